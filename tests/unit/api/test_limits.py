"""The limits that the APIs of a process share."""

import asyncio

import pytest

from penstock.api.errors import Overloaded, Throttled
from penstock.api.limits import SMALL_BODY, BodyBudget, Buckets, FailedLogins, network_of

LARGE = SMALL_BODY + 1


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def _fail(failures: FailedLogins, address: str, key_id: str, times: int) -> None:
    for _ in range(times):
        failures.failed(address, key_id)


def test_an_address_is_refused_after_its_failures_until_time_has_passed() -> None:
    clock = Clock()
    failures = FailedLogins(1.0, clock=clock)
    _fail(failures, "10.0.0.1", "A", 10)
    with pytest.raises(Throttled):
        failures.failed("10.0.0.1", "B")
    with pytest.raises(Throttled):
        failures.check("10.0.0.1", "C")
    failures.check("10.0.0.2", "C")
    clock.now = 1.0
    failures.check("10.0.0.1", "C")


def test_a_key_that_succeeded_is_not_locked_out_at_an_address_that_others_fail_from() -> None:
    failures = FailedLogins(1.0, clock=Clock())
    failures.succeeded("10.0.0.1", "A")
    _fail(failures, "10.0.0.1", "B", 10)
    failures.check("10.0.0.1", "A")


def test_a_key_id_that_many_addresses_guess_at_is_refused_to_those_that_failed() -> None:
    failures = FailedLogins(1.0, clock=Clock())
    for number in range(100):
        failures.failed(f"10.0.0.{number}", "A")
    with pytest.raises(Throttled):
        failures.check("10.0.0.7", "A")
    failures.check("10.0.0.7", "B")
    # Its owner comes from an address that has not failed.
    failures.check("10.9.9.9", "A")


def test_addresses_of_one_ipv6_network_count_as_one() -> None:
    assert network_of("2001:db8:1:2:3:4:5:6") == network_of("2001:db8:1:2::9%eth0") == "2001:db8:1:2::/64"
    assert network_of("::ffff:10.0.0.1") == network_of("10.0.0.1") == "10.0.0.1"
    assert network_of("-") == "-"


def test_names_are_bounded_and_the_one_used_last_stays() -> None:
    buckets = Buckets(1.0, 1.0, clock=Clock())
    assert buckets.take("mine")
    for number in range(9_999):
        buckets.take(str(number))
    assert not buckets.take("mine")
    for number in range(20_000):
        buckets.take(f"more {number}")
    assert buckets.take("mine")


@pytest.mark.parametrize("first", [0, 100])
def test_requests_without_a_body_are_answered_at_once(first: int) -> None:
    """Like the GETs of one client: once, the first answer removed the accounting of the others."""

    async def check() -> None:
        budget = BodyBudget()
        await budget.acquire("a", first)
        await budget.acquire("a", 0)
        budget.release("a", first)
        budget.release("a", 0)

    asyncio.run(check())


def test_room_is_bounded_by_owner_and_in_total_and_released() -> None:
    async def check() -> None:
        budget = BodyBudget(large=3 * LARGE, share=2 * LARGE, timeout=0.01)
        for _ in range(2):
            await budget.acquire("a", LARGE)
        with pytest.raises(Overloaded):
            await budget.acquire("a", LARGE)
        await budget.acquire("b", LARGE)
        with pytest.raises(Overloaded):
            await budget.acquire("c", LARGE)
        await budget.acquire("c", SMALL_BODY)
        budget.release("b", LARGE)
        await budget.acquire("c", LARGE)

    asyncio.run(check())


def test_waiting_owners_are_served_in_turn_and_a_cancelled_wait_takes_nothing() -> None:
    async def check() -> None:
        budget = BodyBudget(large=LARGE, share=LARGE, timeout=60)
        await budget.acquire("a", LARGE)
        served: list[str] = []

        async def ask(owner: str) -> None:
            await budget.acquire(owner, LARGE)
            served.append(owner)
            budget.release(owner, LARGE)

        waiting = [asyncio.create_task(ask(owner)) for owner in ("a", "a", "a", "b")]
        gone = asyncio.create_task(ask("c"))
        await asyncio.sleep(0)
        gone.cancel()
        budget.release("a", LARGE)
        await asyncio.gather(*waiting)
        assert sorted(served) == ["a", "a", "a", "b"]
        assert served.index("b") < 3
        await budget.acquire("d", LARGE)

    asyncio.run(check())

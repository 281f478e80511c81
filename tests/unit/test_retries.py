"""Retries: how often, after which pauses, for which errors, and that a stop ends a pause at once."""

import subprocess
import sys
import threading

import pytest

from penstock import retries
from penstock.retries import Backoff, RetryPolicy, RetryStopped, call_with_retries, doubling, wait_until

QUICK = RetryPolicy(attempts=4, pauses=doubling(1.0, 3.0))


class Flaky:
    """Raises what it is given, then returns how often it was called."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors = list(errors)
        self.calls = 0

    def __call__(self) -> int:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return self.calls


def passes(error: Exception) -> bool:
    return isinstance(error, OSError)


def test_what_passes_is_tried_again_after_growing_pauses() -> None:
    pauses: list[float] = []
    noted: list[tuple[str, int, float]] = []
    result = call_with_retries(
        Flaky(OSError("a"), OSError("b"), OSError("c")),
        QUICK,
        when=passes,
        on_retry=lambda error, failed, pause: noted.append((str(error), failed, pause)),
        sleep=pauses.append,
    )
    assert result == 4
    assert pauses == [1.0, 2.0, 3.0]
    assert noted == [("a", 1, 1.0), ("b", 2, 2.0), ("c", 3, 3.0)]


def test_the_last_error_is_raised_where_no_attempt_is_left() -> None:
    flaky = Flaky(*(OSError(str(number)) for number in range(9)))
    with pytest.raises(OSError, match="3"):
        call_with_retries(flaky, QUICK, when=passes, sleep=lambda _: None)
    assert flaky.calls == 4


@pytest.mark.parametrize("before", [(), (OSError(),)], ids=["at once", "after a retry"])
@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_other_errors_are_raised(before: tuple[OSError, ...], error: BaseException) -> None:
    flaky = Flaky(*before, error, OSError())
    with pytest.raises(type(error)):
        call_with_retries(flaky, QUICK, when=passes, sleep=lambda _: None)
    assert flaky.calls == len(before) + 1


def test_no_attempt_is_made_behind_the_deadline() -> None:
    flaky = Flaky(OSError("a"), OSError("b"))
    with pytest.raises(OSError, match="a"):
        call_with_retries(flaky, RetryPolicy(deadline=0.0, pauses=(0.0,)), when=passes)
    assert flaky.calls == 1


def test_a_stop_ends_the_pause_and_no_attempt_follows() -> None:
    stop = threading.Event()
    flaky = Flaky(OSError(), OSError())
    hour = RetryPolicy(pauses=(3600.0,))

    def from_elsewhere(*_: object) -> None:
        threading.Thread(target=stop.set).start()

    with pytest.raises(RetryStopped):
        call_with_retries(flaky, hour, when=passes, on_retry=from_elsewhere, stop=stop)
    assert flaky.calls == 1


def test_pauses_vary_by_the_jitter() -> None:
    policy = RetryPolicy(pauses=(8.0, 16.0), jitter=0.25)
    chances = iter([0.0, 0.5, 1.0])
    assert [policy.pause(1, lambda: next(chances)) for _ in range(3)] == [6.0, 7.0, 8.0]
    assert policy.pause(50, lambda: 1.0) == 16.0


def test_doubling_ends_at_the_longest() -> None:
    assert doubling(0.5, 3.0) == (0.5, 1.0, 2.0, 3.0)
    assert doubling(5.0, 3.0) == (3.0,)
    assert doubling(0.0, 3.0) == (0.0,)


def test_every_policy_ends_or_waits() -> None:
    policies = [retry_policy for name in retries.__all__ if isinstance(retry_policy := getattr(retries, name), RetryPolicy)]
    assert len(policies) > 8
    for policy in policies:
        assert all(pause > 0 for pause in policy.pauses)
        assert list(policy.pauses) == sorted(policy.pauses)


def test_a_backoff_counts_failures_in_a_row() -> None:
    backoff = Backoff(RetryPolicy(pauses=(3600.0, 7200.0)))
    assert backoff.left == 0.0
    assert [backoff.failed(), backoff.failed(), backoff.failed()] == [3600.0, 7200.0, 7200.0]
    assert 0 < backoff.left <= 7200.0
    backoff.succeeded()
    assert backoff.left == 0.0
    assert backoff.failed() == 3600.0


def test_waiting_gives_what_the_condition_gives() -> None:
    results = iter([None, "", "there"])
    assert wait_until(lambda: next(results), seconds=None, every=0.0) == "there"
    assert wait_until(lambda: None, seconds=0.0, every=0.0) is None
    assert wait_until(lambda: "at once", seconds=0.0) == "at once"


def test_a_call_that_succeeds_imports_no_library() -> None:
    code = (
        "import sys; from penstock.retries import MICRO_BATCH, call_with_retries; "
        "call_with_retries(dict, MICRO_BATCH, when=bool); print('tenacity' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"

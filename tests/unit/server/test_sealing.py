"""Secrets at rest, and the key they are sealed with."""

import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import DataProblem, EnvironmentProblem
from penstock.store.sql.sealing import Sealer, load_master_key

SEALER = Sealer(bytes(range(32)))


@given(value=st.binary(max_size=100), context=st.text(max_size=20))
def test_opens_what_was_sealed_in_its_context_alone(value: bytes, context: str) -> None:
    sealed = SEALER.seal(value, context)
    assert SEALER.open(sealed, context) == value
    with pytest.raises(DataProblem):
        SEALER.open(sealed, f"{context}x")


@given(value=st.binary(max_size=20), place=st.integers(0, 28), bit=st.integers(0, 7))
def test_notices_every_changed_bit(value: bytes, place: int, bit: int) -> None:
    sealed = bytearray(SEALER.seal(value, "row"))
    sealed[place] ^= 1 << bit
    with pytest.raises(DataProblem, match="cannot be decrypted"):
        SEALER.open(bytes(sealed), "row")


@pytest.mark.parametrize("sealed", [b"", b"\x01", b"\x01" + bytes(12), bytes(40)])
def test_refuses_what_is_no_sealed_value(sealed: bytes) -> None:
    with pytest.raises(DataProblem):
        SEALER.open(sealed, "row")


def test_seals_the_same_value_differently_each_time() -> None:
    assert SEALER.seal(b"a", "row") != SEALER.seal(b"a", "row")


def test_makes_a_key_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "home" / "master.key"
    keys: list[bytes] = []
    start = threading.Barrier(8)

    def load() -> None:
        start.wait()
        keys.append(load_master_key(path))

    threads = [threading.Thread(target=load) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 8
    assert set(keys) == {load_master_key(path)}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_names_a_key_file_that_holds_no_key(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    path.write_text("short\n")
    with pytest.raises(EnvironmentProblem, match=r"master\.key"):
        load_master_key(path)

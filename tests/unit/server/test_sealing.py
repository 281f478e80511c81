"""Secrets at rest, and the key they are sealed with."""

import stat
import threading
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import DataProblem, EnvironmentProblem
from penstock.store.sql.sealing import MasterKey, MasterKeys, Sealer

SEALER = Sealer(bytes(range(32)))


@given(value=st.binary(max_size=100), context=st.text(max_size=20))
def test_opens_only_what_was_sealed_in_its_context(value: bytes, context: str) -> None:
    sealed = SEALER.seal(value, context)
    assert SEALER.open(sealed, context) == value
    with pytest.raises(DataProblem):
        SEALER.open(sealed, f"{context}x")


@given(value=st.binary(max_size=20), place=st.integers(0, 36), bit=st.integers(0, 7))
def test_notices_every_changed_bit(value: bytes, place: int, bit: int) -> None:
    sealed = bytearray(SEALER.seal(value, "row"))
    sealed[place] ^= 1 << bit
    with pytest.raises(DataProblem, match="cannot be decrypted"):
        SEALER.open(bytes(sealed), "row")


@pytest.mark.parametrize("sealed", [b"", b"\x01", b"\x01" + bytes(12), bytes(40)])
def test_refuses_bytes_that_are_not_a_sealed_value(sealed: bytes) -> None:
    with pytest.raises(DataProblem):
        SEALER.open(sealed, "row")


def test_seals_the_same_value_differently_each_time() -> None:
    assert SEALER.seal(b"a", "row") != SEALER.seal(b"a", "row")


def test_makes_a_key_once_and_only_for_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "home" / "master.key"
    keys: list[MasterKeys] = []
    start = threading.Barrier(8)

    def load() -> None:
        start.wait()
        keys.append(MasterKeys.load(path))

    threads = [threading.Thread(target=load) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 8
    assert all(key == MasterKeys.load(path) for key in keys)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_names_a_key_file_that_holds_no_key(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    path.write_text("short\n")
    with pytest.raises(EnvironmentProblem, match=r"master\.key"):
        MasterKeys.load(path)


def test_opens_what_was_sealed_before_keys_had_ids() -> None:
    key = MasterKey.generate()
    nonce = bytes(12)
    old = b"\x01" + nonce + AESGCM(key.secret).encrypt(nonce, b"kept", b"row")
    assert Sealer(MasterKeys(MasterKey.generate(), (key,))).open(old, "row") == b"kept"


def test_a_running_server_takes_up_a_changed_file_and_names_a_key_that_it_lacks(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    server = Sealer.of_file(path)
    before = server.seal(b"a", "row")
    new = MasterKey.generate()
    elsewhere = Sealer(MasterKeys(new)).seal(b"b", "row")
    with pytest.raises(DataProblem, match=rf"master key {new.id}, which .*master\.key lacks"):
        server.open(elsewhere, "row")
    MasterKeys(new, tuple(MasterKeys.load(path))).save(path)
    assert server.open(elsewhere, "row") == b"b"
    assert server.open(before, "row") == b"a"
    assert server.is_current(server.seal(b"c", "row"))
    assert not server.is_current(before)
    # Damaged or gone while it runs, the keys stay as they were.
    path.write_text("short")
    assert server.open(server.seal(b"d", "row"), "row") == b"d"
    path.unlink()
    assert server.open(before, "row") == b"a"


def test_the_file_keeps_every_key_and_which_one_waits(tmp_path: Path) -> None:
    keys = MasterKeys(MasterKey.generate(), (MasterKey.generate(),), waiting=MasterKey.generate())
    keys.save(tmp_path / "master.key")
    assert MasterKeys.load(tmp_path / "master.key") == keys
    assert stat.S_IMODE((tmp_path / "master.key").stat().st_mode) == 0o600
    assert keys.current.secret.hex() not in repr(keys)

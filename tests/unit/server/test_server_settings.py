"""What the environment hands the server."""

import pytest

from penstock.errors import InvalidInput
from penstock.settings.server import BootstrapKey

SECRET = "wJalrXUtnFEMI/K7MDENG"


def test_reads_the_bootstrap_key() -> None:
    environment = {
        "PENSTOCK_BOOTSTRAP_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
        "PENSTOCK_BOOTSTRAP_SECRET_ACCESS_KEY": SECRET,
    }
    key = BootstrapKey.from_environment(environment)
    assert key == BootstrapKey(access_key_id="AKIAIOSFODNN7EXAMPLE", secret_access_key=SECRET)
    assert SECRET not in repr(key)
    assert BootstrapKey.from_environment({}) is None


@pytest.mark.parametrize(
    ("key_id", "secret"), [("AKIAIOSFODNN7EXAMPLE", ""), ("", SECRET), ("short", SECRET), ("A" * 20 + "/", SECRET)]
)
def test_refuses_half_a_bootstrap_key(key_id: str, secret: str) -> None:
    environment = {"PENSTOCK_BOOTSTRAP_ACCESS_KEY_ID": key_id, "PENSTOCK_BOOTSTRAP_SECRET_ACCESS_KEY": secret}
    with pytest.raises(InvalidInput, match="PENSTOCK_BOOTSTRAP"):
        BootstrapKey.from_environment(environment)

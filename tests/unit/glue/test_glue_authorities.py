"""The trust store that a Glue script's JVM gets from AWS_CA_BUNDLE."""

import ssl
import warnings
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

from penstock.errors import InvalidInput
from penstock.glue.launch.authorities import BUNDLE, write_truststore
from penstock.local.tls.listeners import PlatformTls
from penstock.settings.home import Home, PlatformConfig


def test_it_has_the_bundle_and_the_machine_s_own_without_a_warning(tmp_path: Path) -> None:
    config = PlatformConfig(access_key_id="A", secret_access_key="s", kafka_password="p", tls=True)
    tls = PlatformTls.of(Home(tmp_path / "home"), config)
    assert tls is not None
    assert tls.authority is not None
    tls.refresh()
    machine = ssl.create_default_context()
    bundle = tmp_path / "bundle.pem"
    pem = [ssl.DER_cert_to_PEM_cert(ca_cert) for ca_cert in machine.get_ca_certs(binary_form=True)]
    bundle.write_text("".join([tls.authority.read_text(), *pem]))
    with warnings.catch_warnings(action="error"):
        path = write_truststore(tmp_path / "store.p12", {BUNDLE: str(bundle)})
    assert path is not None
    with warnings.catch_warnings(action="ignore"):
        stored = load_pkcs12(path.read_bytes(), None).additional_certs
        ours = ssl.PEM_cert_to_DER_cert(tls.authority.read_text())
    assert len(stored) == len(pem) + 1
    assert stored[0].certificate.public_bytes(Encoding.DER) == ours


def test_without_a_bundle_java_trusts_its_own(tmp_path: Path) -> None:
    assert write_truststore(tmp_path / "store.p12", {}) is None


def test_a_bundle_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"nothing\.pem"):
        write_truststore(tmp_path / "store.p12", {BUNDLE: str(tmp_path / "nothing.pem")})

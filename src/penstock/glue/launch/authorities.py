"""The certificate authorities of a run for its JVM: the machine's and those of ``AWS_CA_BUNDLE``, which Java does not read.

A server with its own authority (``penstock up --tls``) gives its runs that variable. boto3 reads it; Spark's S3
connector would repeat failed handshakes without an end.
"""

import re
import ssl
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import NoEncryption
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, serialize_java_truststore

from penstock.errors import InvalidInput

__all__ = ["BUNDLE", "write_truststore"]

BUNDLE = "AWS_CA_BUNDLE"
"""Environment variable of AWS's clients: a file of authorities, PEM."""
_PEM = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


def write_truststore(path: Path, environment: Mapping[str, str]) -> Path | None:
    """Write a trust store in PKCS #12 without a password; None if ``environment`` names no bundle.

    Raises :class:`InvalidInput` if the bundle cannot be read.
    """
    bundle = environment.get(BUNDLE)
    if not bundle:
        return None
    try:
        certificates = [ssl.PEM_cert_to_DER_cert(pem) for pem in _PEM.findall(Path(bundle).read_text("ascii", "replace"))]
    except (OSError, ValueError) as error:
        raise InvalidInput(f"The authorities in {bundle} ({BUNDLE}) cannot be read: {error}.") from error
    # The machine's own stay trusted: a script may speak to others, too.
    certificates += ssl.create_default_context().get_ca_certs(binary_form=True)
    named = [
        PKCS12Certificate(certificate, f"authority-{number}".encode())
        for number, certificate in enumerate(_parsed(certificates))
    ]
    path.write_bytes(serialize_java_truststore(named, NoEncryption()))
    return path


def _parsed(certificates: Iterable[bytes]) -> Iterator[x509.Certificate]:
    for fromkey in dict.fromkeys(certificates):
        # Some of a machine's old ones have serial numbers that the library does not like.
        with warnings.catch_warnings(action="ignore"), suppress(ValueError):
            yield x509.load_der_x509_certificate(fromkey)

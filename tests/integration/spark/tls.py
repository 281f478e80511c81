"""The settings of a broker's TLS listener beside the plain one, and the authority that signs its certificate."""

from pathlib import Path

from penstock.testing.certificates import TestAuthority as Authority

__all__ = ["Authority", "listener"]

_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


def listener(pem: Path, *, plain: int, tls: int, controller: int) -> dict[str, str]:
    """The broker's settings for SASL_SSL on port ``tls``, beside SASL_PLAINTEXT on ``plain``."""
    return {
        "listeners": f"CLIENT://127.0.0.1:{plain},TLS://127.0.0.1:{tls},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"CLIENT://127.0.0.1:{plain},TLS://127.0.0.1:{tls}",
        "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,TLS:SASL_SSL,CONTROLLER:SASL_PLAINTEXT",
        "listener.name.tls.scram-sha-512.sasl.jaas.config": f"{_MODULE} required;",
        "listener.name.tls.ssl.keystore.type": "PEM",
        "listener.name.tls.ssl.keystore.location": str(pem),
    }

"""An issuer of web identity tokens for tests: its keys, its key set, and tokens that it signs with cryptography."""

import base64
import json
import time
from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

__all__ = ["TokenIssuer"]


class TokenIssuer:
    """Signs as ``url`` with one RSA key, whose id is ``kid``."""

    def __init__(self, url: str, kid: str = "key-1") -> None:
        self.url = url
        self.kid = kid
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def key_set(self) -> dict[str, Any]:
        """Return the JSON Web Key Set that its operator would publish."""
        numbers = self._key.public_key().public_numbers()
        key = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": self.kid, "n": _number(numbers.n), "e": _number(numbers.e)}
        return {"keys": [key]}

    def claims(self, subject: str, **more: Any) -> dict[str, Any]:
        """Return claims as Kubernetes makes them for a service account, changed by ``more``, where None removes one."""
        now = int(time.time())
        claims = {"iss": self.url, "sub": subject, "aud": ["sts.amazonaws.com"], "iat": now, "nbf": now, "exp": now + 3600}
        return {name: value for name, value in (claims | more).items() if value is not None}

    def token(self, subject: str, *, header: Mapping[str, Any] | None = None, **more: Any) -> str:
        """Return a token of :meth:`claims`; ``header`` overrides members of its header."""
        head = {"alg": "RS256", "kid": self.kid} | dict(header or {})
        signed = f"{_text(head)}.{_text(self.claims(subject, **more))}"
        return f"{signed}.{_encoded(self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def _number(value: int) -> str:
    return _encoded(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def _text(value: Mapping[str, Any]) -> str:
    return _encoded(json.dumps(value).encode())


def _encoded(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()

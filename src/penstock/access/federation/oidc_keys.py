"""The public keys of identity providers, which the operator gives to the server as files: no URL is ever fetched.

A file is a JSON Web Key Set (RFC 7517), as ``kubectl get --raw /openid/v1/jwks`` prints it. It is read again if it changes.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey

from penstock.caching import SharedCache
from penstock.errors import EnvironmentProblem, InvalidInput

__all__ = ["IssuerKeys", "JsonWebKey", "MissingIssuerKeys"]

JsonWebKey = RSAKey | ECKey

_MAX_BYTES = 262_144
_MAX_KEYS = 100
_LEAST_BITS = 2048
_PRIVATE = frozenset({"d", "p", "q", "dp", "dq", "qi", "k"})
_LOOK_AGAIN = 5.0  # seconds


class MissingIssuerKeys(EnvironmentProblem):
    """The server has no keys to verify the issuer's tokens with."""

    aws_code = "IDPCommunicationError"
    http_status = 400
    fault = "client"


class IssuerKeys:
    """Keys by issuer, from ``files``; each file is looked at once in 5 seconds at most."""

    def __init__(self, files: Mapping[str, Path], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._files = dict(files)
        self._fresh: SharedCache[str, Sequence[JsonWebKey]] = SharedCache(
            max(1, len(self._files)), seconds=_LOOK_AGAIN, clock=clock
        )
        self._read: dict[Path, tuple[tuple[int, int], Sequence[JsonWebKey]]] = {}

    def check(self) -> None:
        """Read every file; raise :class:`InvalidInput` for one that is not a set of public keys."""
        for issuer, file in self._files.items():
            if not issuer.startswith("https://"):
                raise InvalidInput(
                    f"The issuer '{issuer[:200]}' is not an https URL.", remedy="Write https://HOST/PATH=FILE."
                )
            _read(file)

    def of(self, issuer: str) -> Sequence[JsonWebKey]:
        """Return the issuer's keys; raise :class:`MissingIssuerKeys` if it has no file or the file cannot be read."""
        file = self._files.get(issuer)
        if file is None:
            raise MissingIssuerKeys(
                "Couldn't retrieve verification key from your identity provider",
                remedy=f"Give the server the keys of {issuer[:255]}: penstock serve --oidc-keys ISSUER=FILE.",
            )
        try:
            return self._fresh.peek(issuer) or self._fresh.load(issuer, lambda: self._current(file))
        except (OSError, InvalidInput) as error:
            raise MissingIssuerKeys(
                "Couldn't retrieve verification key from your identity provider",
                remedy=f"The server cannot read its file with the keys of {issuer[:255]}.",
            ) from error

    def _current(self, file: Path) -> Sequence[JsonWebKey]:
        """Return the keys in the file, which is parsed only if it has changed."""
        stat = file.stat()
        version = (stat.st_mtime_ns, stat.st_size)
        cached = self._read.get(file)
        if cached is None or cached[0] != version:
            cached = self._read[file] = (version, _read(file))
        return cached[1]


def _read(file: Path) -> Sequence[JsonWebKey]:
    try:
        with file.open("rb") as stream:
            content = stream.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise InvalidInput(f"{file} has more than {_MAX_BYTES:,} bytes.", remedy="Give only the issuer's public keys.")
        listed = json.loads(content)["keys"]
        if not isinstance(listed, list) or len(listed) > _MAX_KEYS:
            raise ValueError
        parsed = [_key(file, key) for key in listed]
    except (OSError, ValueError, KeyError, TypeError, RecursionError, JoseError) as error:
        raise InvalidInput(
            f"{file} is not a JSON Web Key Set.",
            remedy='It has to be {"keys": [{"kty": "RSA", "kid": ..., "n": ..., "e": ...}]}.',
        ) from error
    keys = [key for key in parsed if key is not None]
    if not keys:
        raise InvalidInput(f"{file} has no RSA or EC key for signatures.", remedy="Export the issuer's keys again.")
    return keys


def _key(file: Path, members: Any) -> JsonWebKey | None:
    """Return one key; None for one that does not sign such tokens. Raise for a private or weak key."""
    if not isinstance(members, dict):
        raise ValueError
    if members.get("kty") not in ("RSA", "EC") or members.get("use", "sig") != "sig":
        return None
    if _PRIVATE & set(members):
        raise InvalidInput(
            f"{file} has a private key.", remedy="Give the issuer's public keys, and keep the private one secret."
        )
    if members["kty"] == "EC":
        return ECKey.import_key(members)
    modulus = len(members["n"]) * 6  # bits, of base64
    if modulus < _LEAST_BITS:
        raise InvalidInput(
            f"{file} has an RSA key of less than {_LEAST_BITS:,} bits.", remedy="Use a longer key at the issuer."
        )
    return RSAKey.import_key(members)

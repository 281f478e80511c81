"""HTTP Basic authentication with the access keys that sign AWS's requests. Source: RFC 7617."""

import base64
import hmac

from penstock.access.authenticate import Caller, caller_of
from penstock.access.keys import AccessKey
from penstock.api.confluent.errors import Unauthenticated

__all__ = ["Credentials", "prove", "read_credentials"]

_MAX_HEADER = 1_024
# Compared with where there is no key, so that an unknown id takes as long as a wrong secret.
_NOBODY = "0" * 40

Credentials = tuple[str, str]


def read_credentials(header: str) -> Credentials:
    """Id and secret of an Authorization header; :class:`Unauthenticated` where it is missing, or none of this kind."""
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic" or len(header) > _MAX_HEADER:
        raise Unauthenticated
    try:
        key_id, colon, secret = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except ValueError:  # no base64, no ASCII, no UTF-8
        raise Unauthenticated from None
    if not colon or not key_id.isalnum() or not key_id.isascii():
        raise Unauthenticated
    return key_id, secret


def prove(credentials: Credentials, key: AccessKey | None) -> Caller:
    """The caller, where ``key`` is that of the id and has this secret; :class:`Unauthenticated`."""
    expected = _NOBODY if key is None else key.secret_access_key
    right = hmac.compare_digest(credentials[1].encode(), expected.encode())
    if key is None or not right or not key.active:
        raise Unauthenticated
    return caller_of(key)

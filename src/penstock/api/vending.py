"""Credentials for a part of the lake: sessions of their callers, limited by a policy to some folders.

A vended credential can do what both the caller and the policy allow, and expires with the session, after an hour at most.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from penstock.access.principals import Caller, SessionContext, federated_arn
from penstock.access.sessions import Sessions, TemporaryKey
from penstock.lake.locations import parse_uri

__all__ = ["READS", "WRITES", "SessionVendor"]

_SECONDS = 3_600
READS = ("s3:GetObject", "s3:GetObjectVersion")
WRITES: Mapping[str, Sequence[str]] = {
    "INSERT": ("s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"),
    "DELETE": ("s3:DeleteObject",),
}
"""Actions on objects, by Lake Formation's permission on the table."""
_UNFIT = re.compile(r"[^\w+=,.@-]", re.ASCII)
_LISTING = ("s3:ListBucket", "s3:ListBucketMultipartUploads")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionVendor:
    """A :class:`~penstock.api.iceberg.call.Vendor` by sessions of the callers. ``now`` returns the time in UTC."""

    sessions: Sessions
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def scoped(
        self, caller: Caller, locations: frozenset[str], actions: Sequence[str], *, seconds: int = _SECONDS
    ) -> TemporaryKey | None:
        """Return a credential for S3's ``actions`` on objects below ``locations``, for ``seconds``, an hour at most.

        None for a caller whose session has a policy of its own: two session policies allow what either allows.
        """
        session = self._session(caller, (_policy(locations, actions),), min(seconds, _SECONDS))
        return None if session is None else self._issue(caller, session)

    def unscoped(self, caller: Caller) -> TemporaryKey:
        """Return a credential for all that the caller may do."""
        session = caller.session
        if session is None:
            now = int(self.now().timestamp())
            return self._issue(caller, SessionContext(issued=now, expires=now + _SECONDS))
        return self._issue(caller, session)

    def _session(self, caller: Caller, policies: tuple[str, ...], seconds: int) -> SessionContext | None:
        now = int(self.now().timestamp())
        session = caller.session
        if session is None or (session.role is None and session.federated_by is None):
            expires = now + seconds if session is None else min(now + seconds, session.expires)
            return SessionContext(
                issued=now,
                expires=expires,
                policies=policies,
                federated_by=caller.principal,
                federated_by_id=caller.user_id,
            )
        if session.narrowed:
            return None
        return replace(session, issued=now, expires=min(now + seconds, session.expires), policies=policies)

    def _issue(self, caller: Caller, session: SessionContext) -> TemporaryKey:
        if session.federated_by is None or caller.federated_by is not None:
            return self.sessions.issue(caller.account, caller.principal, session, user_id=caller.user_id)
        # The session bears the name of who asked, up to the 32 characters of a federated user's name.
        name = _UNFIT.sub("-", caller.user_name or "root")[:32]
        principal = federated_arn(caller.account, name)
        return self.sessions.issue(caller.account, principal, session, user_id=f"{caller.account}:{name}")


def _policy(locations: frozenset[str], actions: Sequence[str]) -> str:
    objects, prefixes, buckets = [], [], set()
    for location in sorted(locations):
        uri = parse_uri(location)
        key = _literal(uri.key)
        objects.append(f"arn:aws:s3:::{uri.bucket}/{key}*")
        # Listings begin at the folder's slash: without it they would show its neighbours, as orders shows orders2.
        prefixes.append(f"{key}*")
        buckets.add(f"arn:aws:s3:::{uri.bucket}")
    listing = {"StringLike": {"s3:prefix": prefixes}}
    statements: list[dict[str, Any]] = [
        {"Effect": "Allow", "Action": list(actions), "Resource": objects},
        {"Effect": "Allow", "Action": list(_LISTING), "Resource": sorted(buckets), "Condition": listing},
        {"Effect": "Allow", "Action": "s3:GetBucketLocation", "Resource": sorted(buckets)},
    ]
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


def _literal(key: str) -> str:
    """Return a key for a policy, in which stars and question marks would be patterns."""
    return key.replace("$", "${$}").replace("*", "${*}").replace("?", "${?}")

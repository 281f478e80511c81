"""The audit events of requests to S3: CloudTrail's data events."""

import time
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.access.audit.event import MOST_TEXT, OUTCOMES, AuditEvent
from penstock.access.audit.log import AuditSink
from penstock.access.principals import Caller
from penstock.access.sigv4 import SignedRequest
from penstock.api.s3.signature import read_s3_claim
from penstock.lake.objects.errors import S3Error

__all__ = ["UNDECIDED", "AuditedRequest", "named_key"]

_KEYS_OF_A_RECORD = 100

UNDECIDED = frozenset({"ServiceUnavailable", "SlowDown"})
"""Codes of requests that were rejected before their caller was authenticated."""


@dataclass(slots=True, kw_only=True)
class AuditedRequest:
    """What is known of a request so far."""

    request_id: str
    region: str
    account: str
    operation: str = ""
    bucket: str = ""
    key: str = ""
    key_id: str = ""
    caller: Caller | None = None
    denied: Sequence[str] = ()
    """Keys that were denied in a request for many."""

    def write_audit(self, audit: AuditSink, scope: MutableMapping[str, Any], error: Exception | None) -> None:
        """Write the decision to ``audit``; raise :class:`~penstock.access.audit.log.AuditUnavailable` if it cannot."""
        for at in range(0, len(self.denied), _KEYS_OF_A_RECORD):
            self._write_event(
                audit, scope, S3Error("AccessDenied", "Access Denied"), self.denied[at : at + _KEYS_OF_A_RECORD]
            )
        self._write_event(audit, scope, error, ())

    def _write_event(
        self, audit: AuditSink, scope: MutableMapping[str, Any], error: Exception | None, keys: Sequence[str]
    ) -> None:
        caller = self.caller
        refused = isinstance(error, S3Error) and error.code not in UNDECIDED
        if caller is None and not refused:
            return
        code = "" if error is None else error.code if isinstance(error, S3Error) else "InternalError"
        denied = caller is not None and code == "AccessDenied"
        client = scope.get("client")
        headers = dict(scope["headers"])
        parameters = {"bucketName": self.bucket, "key": self.key}
        paths = [f"{self.bucket}/{key}" for key in keys or ([self.key] if self.key else ())] or [self.bucket]
        audit.write(
            AuditEvent(
                time=time.time(),
                service="s3",
                operation=self.operation,
                outcome=OUTCOMES[2 if caller is None else 1 if denied else 0],
                region=self.region,
                account=self.account if caller is None else caller.account,
                request_id=self.request_id,
                client=client[0] if client else "-",
                user_agent=headers.get(b"user-agent", b"")[:MOST_TEXT].decode("latin-1"),
                caller=caller,
                access_key_id=self.key_id,
                code=code,
                message="" if error is None else str(error),
                secure=scope.get("scheme") == "https",
                parameters={name: value for name, value in parameters.items() if value},
                resources=[f"arn:aws:s3:::{path}" for path in paths if path],
                data=bool(self.key or keys),
            )
        )


def named_key(request: SignedRequest) -> str:
    """Return the access key id that a request claims; empty if it claims none."""
    try:
        return read_s3_claim(request).access_key_id
    except S3Error:
        return ""

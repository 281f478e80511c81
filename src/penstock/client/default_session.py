"""boto3's default session, which ``boto3.client`` uses, with two calls of published examples fixed or explained.

Published examples call ``kinesis.put_record(..., ExplicitHashKey=None)`` and ``glue.update_schema(...,
SchemaDefinition=...)``. botocore refuses both before any request. The first is sent without the key, as it is meant; the
second means ``register_schema_version``, and the error says that. Calls that botocore accepts are not changed.
"""

from typing import TYPE_CHECKING, Any

import boto3
from botocore.exceptions import ParamValidationError

if TYPE_CHECKING:
    from boto3.session import Session

__all__ = ["UPDATE_SCHEMA_REFUSAL", "default_session", "explain_calls"]

UPDATE_SCHEMA_REFUSAL = (
    "update_schema takes no SchemaDefinition: it changes only a schema's compatibility, checkpoint and description. "
    "Register the new definition as the next version: "
    "glue.register_schema_version(SchemaId=..., SchemaDefinition=...)."
)


def default_session() -> "Session":
    """Return the default session, created if there is none, with :func:`explain_calls` applied."""
    if boto3.DEFAULT_SESSION is None:
        boto3.setup_default_session()
    session = boto3.DEFAULT_SESSION
    assert session is not None
    explain_calls(session)
    return session


def explain_calls(session: "Session") -> None:
    """Handle the two calls as described above in clients that ``session`` makes from now on. Call once per session."""
    events: Any = session.events  # its stubs lack handlers that return a value
    events.register("provide-client-params.kinesis.PutRecord", _leave_out, unique_id="penstock-put-record")
    events.register("provide-client-params.glue.UpdateSchema", _refuse, unique_id="penstock-update-schema")


def _leave_out(params: dict[str, Any], **_: Any) -> dict[str, Any] | None:
    if params.get("ExplicitHashKey", "") is not None:
        return None
    return {name: value for name, value in params.items() if name != "ExplicitHashKey"}


def _refuse(params: dict[str, Any], **_: Any) -> None:
    if "SchemaDefinition" in params:
        raise ParamValidationError(report=UPDATE_SCHEMA_REFUSAL)

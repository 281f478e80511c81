"""The AWS query protocol of STS and IAM: form fields in, XML out, both by the shapes of botocore's models.

Source: the awsQuery protocol of the Smithy specification.
"""

import base64
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

from penstock.access.audit.log import AuditUnavailable
from penstock.access.errors import (
    ExpiredToken,
    IncompleteSignature,
    InvalidSignature,
    MissingAuthentication,
    NotAuthorized,
    UnrecognizedClient,
)
from penstock.api.aws.protocol.errors import InvalidShape, RenderedError, UnknownOperation
from penstock.api.aws.protocol.models import ServiceModel
from penstock.api.errors import Overloaded, Throttled, UnreadableRequest
from penstock.errors import InternalError, InvalidInput, LimitExceeded, OperationNotServed, PenstockError

__all__ = [
    "QUERY_CODES",
    "XML_TYPE",
    "read_fields",
    "read_members",
    "write_error",
    "write_response",
]

XML_TYPE = b"text/xml"
QUERY_CODES: Mapping[type[PenstockError], str] = {
    AuditUnavailable: "ServiceUnavailable",
    ExpiredToken: "ExpiredToken",
    IncompleteSignature: "IncompleteSignature",
    InternalError: "InternalFailure",
    InvalidInput: "ValidationError",
    InvalidShape: "ValidationError",
    InvalidSignature: "SignatureDoesNotMatch",
    LimitExceeded: "LimitExceeded",
    MissingAuthentication: "MissingAuthenticationToken",
    NotAuthorized: "AccessDenied",
    OperationNotServed: "InvalidAction",
    Overloaded: "ServiceUnavailable",
    PenstockError: "InternalFailure",
    Throttled: "Throttling",
    UnknownOperation: "InvalidAction",
    UnreadableRequest: "MalformedInput",
    UnrecognizedClient: "InvalidClientTokenId",
}
"""The protocol's codes that differ from those of the JSON services."""

_FORBIDDEN = frozenset(
    {"AccessDenied", "ExpiredToken", "InvalidClientTokenId", "MissingAuthenticationToken", "SignatureDoesNotMatch"}
)
_MAX_FIELDS = 2_000
_MAX_DEPTH = 20
_MAX_INDEX = 10_000
# Characters that XML 1.0 cannot represent.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_Tree = dict[str, Any]  # strings at the leaves under the key ""


def read_fields(text: str) -> dict[str, str]:
    """Return the fields of a form or a query string; raise :class:`UnreadableRequest` for over 2,000, or one twice."""
    try:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=False, errors="strict", max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise UnreadableRequest("The form cannot be read.", remedy=f"Send up to {_MAX_FIELDS:,} fields, in UTF-8.") from None
    fields = {name: value for name, value in pairs if not name.startswith("X-Amz-")}
    if len(fields) != sum(not name.startswith("X-Amz-") for name, _ in pairs):
        raise UnreadableRequest("The form has a field twice.")
    return fields


def read_members(model: ServiceModel, shape: str | None, fields: Mapping[str, str]) -> dict[str, Any]:
    """Return the request as JSON values by the shape; raise :class:`UnreadableRequest` for a value of another type."""
    if shape is None:
        return {}
    tree: _Tree = {}
    for name, value in fields.items():
        parts = name.split(".")
        if len(parts) > _MAX_DEPTH:
            raise UnreadableRequest(f"The field '{name[:200]}' is nested more than {_MAX_DEPTH} levels deep.")
        node = tree
        for part in parts:
            node = node.setdefault(part, {})
        node[""] = value
    members: dict[str, Any] = _structure(model, model.shapes[shape], tree, "")
    return members


def write_response(model: ServiceModel, operation: str, response: Mapping[str, Any], request_id: str) -> bytes:
    """Return the XML of a handler's response."""
    output = model.operations[operation].get("output")
    result = ""
    if output is not None:
        content = _element_content(model, output["shape"], response)
        wrapper = output.get("resultWrapper")
        result = f"<{wrapper}>{content}</{wrapper}>" if wrapper else content
    return (
        f'<{operation}Response xmlns="{model.xml_namespace}">{result}'
        f"<ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata></{operation}Response>"
    ).encode()


def write_error(model: ServiceModel, error: RenderedError, *, request_id: str) -> RenderedError:
    """Return ``error`` as the protocol's XML, with the status that the model has for its code."""
    status = 403 if error.code in _FORBIDDEN else model.statuses.get(error.code, error.status)
    side = "Receiver" if status >= 500 else "Sender"
    body = (
        f'<ErrorResponse xmlns="{model.xml_namespace}"><Error><Type>{side}</Type><Code>{_text(error.code)}</Code>'
        f"<Message>{_text(error.message)}</Message></Error><RequestId>{request_id}</RequestId></ErrorResponse>"
    )
    return RenderedError(status, error.code, body.encode(), error.message)


def _value(model: ServiceModel, name: str, tree: _Tree, path: str) -> Any:
    shape = model.shapes[name]
    shape_type = shape["type"]
    if shape_type == "structure":
        return _structure(model, shape, tree, path)
    if shape_type == "list":
        return _list(model, shape, tree, path)
    if shape_type == "map":
        return _map(model, shape, tree, path)
    if "" not in tree:
        raise UnreadableRequest(f"A value is expected at '{path}'.")
    return _scalar(shape_type, tree[""], path)


def _structure(model: ServiceModel, shape: Mapping[str, Any], tree: _Tree, path: str) -> dict[str, Any]:
    members = {}
    for name, member in shape["members"].items():
        node = tree.get(_tag(model, member, name))
        if node is not None:
            members[name] = _value(model, member["shape"], node, f"{path}.{name}" if path else name)
    return members


def _tag(model: ServiceModel, member: Mapping[str, Any], name: str) -> str:
    """Return a member's name in requests and answers: for a list without an element around it, the name of its entries."""
    tag: str = member.get("locationName", name)
    shape = model.shapes[member["shape"]]
    if shape.get("flattened") and shape["type"] == "list":
        tag = shape["member"].get("locationName", tag)
    return tag


def _list(model: ServiceModel, shape: Mapping[str, Any], tree: _Tree, path: str) -> list[Any]:
    member = shape["member"]
    node = tree if shape.get("flattened") else tree.get(member.get("locationName", "member"), {})
    return [_value(model, member["shape"], entry, f"{path}.{index}") for index, entry in _numbered(node, path)]


def _map(model: ServiceModel, shape: Mapping[str, Any], tree: _Tree, path: str) -> dict[str, Any]:
    node = tree if shape.get("flattened") else tree.get("entry", {})
    key_name, value_name = shape["key"].get("locationName", "key"), shape["value"].get("locationName", "value")
    entries = {}
    for index, entry in _numbered(node, path):
        if key_name not in entry or value_name not in entry:
            raise UnreadableRequest(f"A key and a value are expected at '{path}.{index}'.")
        key = _value(model, shape["key"]["shape"], entry[key_name], path)
        entries[key] = _value(model, shape["value"]["shape"], entry[value_name], f"{path}.{index}")
    return entries


def _numbered(node: _Tree, path: str) -> list[tuple[int, _Tree]]:
    numbered = []
    for index, child in node.items():
        if index == "":  # an empty list is sent as a field without a value
            continue
        if not (index.isascii() and index.isdigit() and len(index) <= 5 and 0 < int(index) <= _MAX_INDEX):
            raise UnreadableRequest(f"'{index[:100]}' is not the number of an entry, at '{path}'.")
        numbered.append((int(index), child))
    return sorted(numbered, key=lambda entry: entry[0])


def _scalar(shape_type: str, text: str, path: str) -> Any:
    try:
        if shape_type in ("integer", "long"):
            return int(text)
        if shape_type in ("double", "float"):
            return float(text)
    except ValueError:
        raise UnreadableRequest(f"'{text[:100]}' is not a number, at '{path}'.") from None
    if shape_type == "boolean":
        if text.lower() not in ("true", "false"):
            raise UnreadableRequest(f"'{text[:100]}' is neither true nor false, at '{path}'.")
        return text.lower() == "true"
    return text


def _element_content(model: ServiceModel, name: str, value: Any) -> str:
    shape = model.shapes[name]
    match shape["type"]:
        case "structure":
            return "".join(
                _member(model, member, member_name, value[member_name])
                for member_name, member in shape["members"].items()
                if value.get(member_name) is not None
            )
        case "list":
            entry = shape["member"].get("locationName", "member")
            return "".join(
                f"<{entry}>{_element_content(model, shape['member']['shape'], member_value)}</{entry}>"
                for member_value in value
            )
        case "map":
            return "".join(f"<entry>{_entry(model, shape, key, item)}</entry>" for key, item in value.items())
        case _:
            return _scalar_text(shape["type"], value)


def _scalar_text(shape_type: str, value: Any) -> str:
    match shape_type:
        case "timestamp":
            return _time(value)
        case "blob":
            return base64.b64encode(value).decode()
        case "boolean":
            return "true" if value else "false"
        case _:
            return _text(str(value))


def _member(model: ServiceModel, member: Mapping[str, Any], name: str, value: Any) -> str:
    tag, shape = _tag(model, member, name), model.shapes[member["shape"]]
    if shape.get("flattened") and shape["type"] == "list":
        return "".join(f"<{tag}>{_element_content(model, shape['member']['shape'], item)}</{tag}>" for item in value)
    if shape.get("flattened") and shape["type"] == "map":
        return "".join(f"<{tag}>{_entry(model, shape, key, item)}</{tag}>" for key, item in value.items())
    return f"<{tag}>{_element_content(model, member['shape'], value)}</{tag}>"


def _entry(model: ServiceModel, shape: Mapping[str, Any], key: str, value: Any) -> str:
    key_name, value_name = shape["key"].get("locationName", "key"), shape["value"].get("locationName", "value")
    content = _element_content(model, shape["value"]["shape"], value)
    return f"<{key_name}>{_text(key)}</{key_name}><{value_name}>{content}</{value_name}>"


def _time(time: datetime) -> str:
    aware = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    return aware.strftime("%Y-%m-%dT%H:%M:%SZ")


def _text(text: str) -> str:
    return escape(_NO_XML.sub("�", text))

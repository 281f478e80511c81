"""Exports a live Glue registry, AWS's or another server's, as records (:mod:`penstock.registry.transfer`).

The records have what Glue's API gives: ids, numbers and status of versions, metadata, tags, compatibility. It does not give
deleted versions, nor the reason of a refusal. The API cannot read everything at one moment: a change during the export may
or may not be in it, and a deleted item is left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from penstock.client.connection import open_client, translated_errors
from penstock.errors import NotFound

__all__ = ["glue_records"]

_PAGE = 100
_READERS = 8
_INCOMPATIBILITY = "penstock:"  # prefix of metadata that a server adds itself


def glue_records(registry: str | None = None, *, endpoint_url: str | None = None) -> Iterator[dict[str, Any]]:
    """Yield the records of all registries, or of one.

    Region, credentials and, without ``endpoint_url``, the endpoint come from the usual places of any AWS client. Raises the
    errors of :func:`penstock.client.connection.translated_errors`, :class:`NotFound` for an unknown ``registry``.
    """
    glue = open_client("glue", endpoint_url=endpoint_url, attempts=10)
    if registry is not None:
        with translated_errors(glue, f"registry {registry}"):
            glue.get_registry(RegistryId={"RegistryName": registry})
    with ThreadPoolExecutor(_READERS, thread_name_prefix="penstock-glue") as readers:
        for summary in _pages(glue, "registries", glue.list_registries, "Registries", {}):
            if registry in (None, summary["RegistryName"]):
                yield from _registry(glue, summary, readers)


def _registry(glue: Any, registry: Mapping[str, Any], readers: ThreadPoolExecutor) -> Iterator[dict[str, Any]]:
    name = registry["RegistryName"]
    try:
        tags = _tags(glue, registry["RegistryArn"])
    except NotFound:
        return
    yield {
        "kind": "registry",
        "name": name,
        "description": registry.get("Description"),
        "created": _time(registry.get("CreatedTime")),
        "updated": _time(registry.get("UpdatedTime") or registry.get("CreatedTime")),
        "tags": tags,
    }
    schemas = _pages(glue, f"schemas of {name}", glue.list_schemas, "Schemas", {"RegistryId": {"RegistryName": name}})
    for schema in schemas:
        schema_id = {"RegistryName": name, "SchemaName": schema["SchemaName"]}
        try:
            yield _schema(glue, schema_id)
            heads = _versions(glue, schema_id)
        except NotFound:
            continue
        for start in range(0, len(heads), _PAGE):
            read = readers.map(lambda head: _version(glue, head), heads[start : start + _PAGE])
            yield from ({**record, "registry": name, "schema": schema["SchemaName"]} for record in read if record)


def _schema(glue: Any, schema_id: Mapping[str, str]) -> dict[str, Any]:
    name = schema_id["SchemaName"]
    with translated_errors(glue, f"schema {name}"):
        schema = glue.get_schema(SchemaId=schema_id)
    return {
        "kind": "schema",
        "registry": schema_id["RegistryName"],
        "name": name,
        "data_format": schema["DataFormat"],
        "compatibility": schema["Compatibility"],
        "description": schema.get("Description"),
        "checkpoint": schema.get("SchemaCheckpoint", 1),
        "next_number": schema.get("NextSchemaVersion", 1),
        "created": _time(schema.get("CreatedTime")),
        "updated": _time(schema.get("UpdatedTime") or schema.get("CreatedTime")),
        "tags": _tags(glue, schema["SchemaArn"]),
    }


def _versions(glue: Any, schema_id: Mapping[str, str]) -> Sequence[Mapping[str, Any]]:
    what = f"versions of {schema_id['SchemaName']}"
    heads = _pages(glue, what, glue.list_schema_versions, "Schemas", {"SchemaId": schema_id})
    return sorted(heads, key=lambda head: head["VersionNumber"])


def _version(glue: Any, head: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the version's record, or None if it was deleted since it was listed."""
    try:
        with translated_errors(glue, f"schema version {head['SchemaVersionId']}"):
            version = glue.get_schema_version(SchemaVersionId=head["SchemaVersionId"])
        metadata = list(_metadata(glue, version["SchemaVersionId"]))
    except NotFound:
        return None
    return {
        "kind": "version",
        "id": version["SchemaVersionId"],
        "serial": 0,
        "number": version["VersionNumber"],
        "status": "AVAILABLE" if version["Status"] == "AVAILABLE" else "FAILURE",
        "created": _time(version.get("CreatedTime")),
        "deleted": None,
        "definition": version["SchemaDefinition"],
        "references": [],
        "verdict": None,
        "metadata": metadata,
    }


def _metadata(glue: Any, version_id: str) -> Iterator[dict[str, Any]]:
    token: dict[str, str] = {}
    while True:
        with translated_errors(glue, f"metadata of schema version {version_id}"):
            page = glue.query_schema_version_metadata(SchemaVersionId=version_id, MaxResults=50, **token)
        for key, info in page.get("MetadataInfoMap", {}).items():
            for pair in (*info.get("OtherMetadataValueList", ()), info):
                if not key.startswith(_INCOMPATIBILITY):
                    yield {"key": key, "value": pair["MetadataValue"], "created": _time(pair.get("CreatedTime"))}
        if not page.get("NextToken"):
            return
        token = {"NextToken": page["NextToken"]}


def _tags(glue: Any, arn: str) -> Mapping[str, str]:
    with translated_errors(glue, f"tags of {arn}"):
        tags: Mapping[str, str] = glue.get_tags(ResourceArn=arn).get("Tags", {})
    return tags


def _pages(glue: Any, what: str, call: Any, member: str, request: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    token: dict[str, str] = {}
    while True:
        with translated_errors(glue, what):
            page = call(**request, MaxResults=_PAGE, **token)
        yield from page.get(member, ())
        if not page.get("NextToken"):
            return
        token = {"NextToken": page["NextToken"]}


def _time(text: str | None) -> str:
    """Return the time as an export has it. Glue writes ISO 8601, in UTC; AWS omits a time now and then."""
    return text or "1970-01-01T00:00:00Z"

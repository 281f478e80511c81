"""Access to the lake for clients of the catalog: the S3 endpoint, vended credentials, remote signing."""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from penstock.access.sessions import TemporaryKey
from penstock.api.iceberg.call import Call, IcebergSettings
from penstock.api.vending import READS, WRITES
from penstock.errors import AccessDenied, NotFound
from penstock.lake.iceberg.documents import Document
from penstock.lake.locations import SCHEMES

__all__ = [
    "SIGNER",
    "reads_all",
    "scoped_key",
    "storage_defaults",
    "storage_of",
    "table_credentials",
    "table_locations",
]

SIGNER = "v1/aws/s3/sign"
"""The path of the signer that Iceberg's clients use unless another one is configured."""
_FOLDERS = ("write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path")


def storage_defaults(settings: IcebergSettings) -> dict[str, str]:
    """Return the properties by which clients reach the lake; empty without an S3 endpoint."""
    if settings.s3_endpoint_url is None:
        return {}
    return {
        "s3.endpoint": settings.s3_endpoint_url,
        "s3.path-style-access": "true",
        "s3.region": settings.region,
        "client.region": settings.region,
    }


def storage_of(call: Call, database: str, name: str, document: Document, *, staged: bool = False) -> dict[str, Any]:
    """Return ``config`` and ``storage-credentials`` of a table, as far as the client asked for them.

    A ``staged`` table does not exist yet, so that its requests are signed by the route for all.
    """
    config = storage_defaults(call.settings)
    if call.wants("vended-credentials"):
        credentials = table_credentials(call, database, name, document)
        if credentials:
            return {"config": {**config, **credentials[0]["config"]}, "storage-credentials": credentials}
    if call.wants("remote-signing") and call.settings.s3_endpoint_url is not None:
        config |= {
            "s3.remote-signing-enabled": "true",
            "s3.signer": "S3V4RestSigner",
            "s3.signer.endpoint": SIGNER if staged else f"{_path(call, database, name)}/sign",
        }
    return {"config": config}


def _common(locations: frozenset[str]) -> str:
    """Return the longest text that all locations begin with."""
    first, last = min(locations), max(locations)
    length = next((index for index, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    return first[:length]


def _path(call: Call, database: str, name: str) -> str:
    """Return a table's path, relative to the catalog's address."""
    return f"v1/catalogs/{call.account}/namespaces/{quote(database, safe='')}/tables/{quote(name, safe='')}"


def reads_all(call: Call, database: str, name: str) -> bool:
    """Return whether the caller may read all columns and rows: a credential for the files knows neither."""
    try:
        table = call.tables.table(database, name)
    except NotFound:
        return True  # a staged table
    columns = [column.name.lower() for column in (*table.storage.columns, *table.partition_keys)]
    return call.access.reading(database, name, columns) is None


def scoped_key(call: Call, database: str, name: str, document: Document) -> TemporaryKey | None:
    """Return the caller's credential for the files of a table; None if none can be made for the caller."""
    if call.vendor is None or not reads_all(call, database, name):
        return None
    return call.vendor.scoped(call.caller, table_locations(document), (*READS, *_writes(call, database, name)))


def table_credentials(call: Call, database: str, name: str, document: Document) -> list[dict[str, Any]]:
    """Return the credential for the table's locations; none if none can be made for the caller."""
    key = None if call.settings.s3_endpoint_url is None else scoped_key(call, database, name, document)
    if key is None:
        return []
    locations = table_locations(document)
    config = {
        **storage_defaults(call.settings),
        # Java's client asks there again before the session ends.
        "client.refresh-credentials-endpoint": f"{_path(call, database, name)}/credentials",
        "s3.access-key-id": key.access_key_id,
        "s3.secret-access-key": key.secret_access_key,
        "s3.session-token": key.token,
        "s3.session-token-expires-at-ms": str(int(key.expires.timestamp() * 1000)),
    }
    # Java's client takes one credential for S3 and no more, so it has to be for all locations.
    return [{"prefix": _common(locations), "config": config}]


def _writes(call: Call, database: str, name: str) -> Sequence[str]:
    """Return the actions on objects of a caller who may commit, as far as it may add and remove rows."""
    if not call.access.allows("UpdateTable", {"DatabaseName": database, "TableInput": {"Name": name}}):
        return ()
    writes: list[str] = []
    for permission, actions in WRITES.items():
        with contextlib.suppress(AccessDenied):
            call.access.check_writing(database, name, (permission,))
            writes += actions
    return writes


def table_locations(document: Document) -> frozenset[str]:
    """Return the folders that a table's files are in: its location, and others that its properties name."""
    properties: Mapping[str, str] = document.get("properties") or {}
    locations = [str(document["location"]), *(str(properties[folder]) for folder in _FOLDERS if properties.get(folder))]
    return frozenset(f"{location.rstrip('/')}/" for location in locations if location.startswith(SCHEMES))

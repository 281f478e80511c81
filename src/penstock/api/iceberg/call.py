"""One request of Iceberg's API: what its handler gets, and what it returns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import parse_qsl

from penstock.access.principals import Caller
from penstock.access.sessions import TemporaryKey
from penstock.api.iceberg.errors import NoSuchNamespace, NoSuchTable, NoSuchView
from penstock.catalog.service import CatalogService
from penstock.catalog.tables import TableWrite
from penstock.errors import InvalidInput
from penstock.lake.iceberg.documents import Document
from penstock.lake.iceberg.files import MetadataFiles
from penstock.lakeformation.decisions import TableAccess
from penstock.lakeformation.service import LakeFormation

__all__ = [
    "Answer",
    "Call",
    "CatalogAccess",
    "IcebergSettings",
    "Vendor",
    "checked_name",
    "identifier",
    "level",
    "no_content",
]

_SEPARATOR = "\x1f"
_MAX_NAME = 255
_MAX_PAGE = 1_000


class CatalogAccess(Protocol):
    """What the caller may do in the catalog and the lake of the account that the request names."""

    def check(self, operation: str, request: Mapping[str, Any], /) -> None:
        """Raise :class:`penstock.errors.AccessDenied` unless the caller may call Glue's ``operation`` with ``request``."""

    def allows(self, operation: str, request: Mapping[str, Any], /) -> bool:
        """Return whether :meth:`check` would pass."""

    def is_visible(self, operation: str, item: Mapping[str, Any], /) -> bool:
        """Return whether Glue's ``operation``, GetDatabases or GetTables, may show ``item`` (Glue's shape)."""

    def reading(self, database: str, table: str, columns: Sequence[str], /) -> TableAccess | None:
        """Return which columns and rows of a table with ``columns`` the caller may select; None for all."""

    def check_writing(self, database: str, table: str, permissions: Sequence[str], /) -> None:
        """Raise :class:`penstock.errors.AccessDenied` unless the caller has Lake Formation's permissions on a table."""

    def check_files(self, action: str, uris: Sequence[str], table: tuple[str, str] | None = None, /) -> Sequence[str]:
        """Raise :class:`penstock.errors.AccessDenied` unless the caller may do S3's ``action`` on files of ``table``.

        It is that of :class:`penstock.lake.permitted.FileAccess`: the endpoint and SQL ask the same one.
        """


class Vendor(Protocol):
    """Makes temporary credentials for parts of the lake."""

    def scoped(self, caller: Caller, locations: frozenset[str], actions: Sequence[str]) -> TemporaryKey | None:
        """Return a credential of the caller for ``actions`` on objects below ``locations``; None if none can be made."""

    def unscoped(self, caller: Caller) -> TemporaryKey:
        """Return a credential for all that the caller may do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergSettings:
    """``warehouse`` is the location of tables whose namespace has none; ``s3_endpoint_url`` serves the lakes."""

    region: str
    warehouse: str
    s3_endpoint_url: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request with everything that handlers need. ``parts`` are the decoded parameters of the path."""

    caller: Caller
    account: str
    parts: Mapping[str, str]
    query: str
    body: Any
    headers: Mapping[str, str]
    tables: CatalogService
    files: MetadataFiles
    access: CatalogAccess
    settings: IcebergSettings
    vendor: Vendor | None
    lake_formation: LakeFormation

    def change_tables(self, writes: Sequence[TableWrite]) -> None:
        """Change tables all together or none, and tell Lake Formation which were created and deleted."""
        self.tables.change_tables(writes)
        self.tell_lake(writes)

    def rename_table(self, moves: Sequence[TableWrite]) -> None:
        """Change a table's name, by the removal of the old and the creation of the new one; its grants are kept."""
        old, new = moves
        names = (old.database, old.name, new.database, new.name)
        restricted = self.lake_formation.restrict_like(*names)
        try:
            self.tables.change_tables(moves)
        except BaseException:
            if restricted:
                self.lake_formation.deleted(new.database, new.name)
            raise
        self.lake_formation.renamed(*names)

    def tell_lake(self, writes: Sequence[TableWrite]) -> None:
        """Tell Lake Formation which tables were created and deleted."""
        creator = self.caller.arn_for_policies
        for write in writes:
            if write.definition is None:
                self.lake_formation.deleted(write.database, write.name)
            elif write.version is None:
                self.lake_formation.created(write.database, write.name, by=creator)

    def parameter(self, name: str) -> str | None:
        """Return a parameter of the query, None if it is missing or empty."""
        return next((value for key, value in parse_qsl(self.query) if key == name), None)

    def has_parameter(self, name: str) -> bool:
        """Return whether the query has the parameter, even without a value."""
        return any(key == name for key, _ in parse_qsl(self.query, keep_blank_values=True))

    def page_size(self) -> int:
        """Return the wanted number of rows of a page."""
        size = self.parameter("pageSize")
        if size is None:
            return _MAX_PAGE
        if not size.isascii() or not size.isdigit() or int(size[:9]) < 1:
            raise InvalidInput(f"The pageSize {size[:50]!r} is not a positive number.")
        return min(int(size[:9]), _MAX_PAGE)

    @property
    def document(self) -> Document:
        """The body, which has to be an object."""
        if not isinstance(self.body, dict):
            raise InvalidInput("The request body is not a JSON object.")
        return self.body

    @property
    def database(self) -> str:
        """The namespace of the path, in lower case: a database of the catalog, which has one level."""
        levels = self.parts["namespace"].split(_SEPARATOR)
        if len(levels) != 1 or not levels[0]:
            shown = ".".join(levels)[:200]
            if "table" in self.parts:
                # Java's client looks for metadata tables (TABLE.files) this way, and expects this error.
                raise NoSuchTable(f"Table does not exist: {shown}.{self.parts['table'][:200]}")
            if "view" in self.parts:
                raise NoSuchView(f"View does not exist: {shown}.{self.parts['view'][:200]}")
            raise NoSuchNamespace(f"Namespace does not exist: {shown}")
        return levels[0].lower()

    @property
    def table(self) -> str:
        """The table or view of the path, in lower case."""
        return (self.parts.get("table") or self.parts["view"]).lower()

    def wants(self, delegation: str) -> bool:
        """Return whether the client asks for this way of access to the lake (X-Iceberg-Access-Delegation)."""
        header = self.headers.get("x-iceberg-access-delegation", "")
        return delegation in {part.strip() for part in header.split(",")}


@dataclass(frozen=True, slots=True)
class Answer:
    """``body`` is a JSON value; None for an answer without one."""

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


def no_content() -> Answer:
    """Return an answer without a body."""
    return Answer(status=204)


def level(value: Any) -> str:
    """Return the database that a namespace of a body names, in lower case; raise :class:`InvalidInput`."""
    if not isinstance(value, list) or not all(isinstance(level, str) for level in value) or not value:
        raise InvalidInput("A namespace is a list of strings.")
    if len(value) > 1:
        raise InvalidInput(
            f"Cannot use the namespace {'.'.join(value)[:200]}: the catalog has one level of namespaces.",
            remedy="Name a namespace of one level.",
        )
    return checked_name(value[0], "namespace")


def checked_name(value: Any, what: str) -> str:
    """Return a name in lower case, as the catalog keeps it; raise :class:`InvalidInput` for one that it cannot have."""
    if not isinstance(value, str) or not 1 <= len(value) <= _MAX_NAME or not value.isprintable():
        raise InvalidInput(
            f"The {what} {str(value)[:100]!r} is not a name.", remedy=f"A name has 1 to {_MAX_NAME} printable characters."
        )
    return value.lower()


def identifier(value: Any, what: str) -> tuple[str, str]:
    """Return database and name of an identifier in a body (``namespace`` and ``name``)."""
    if not isinstance(value, dict):
        raise InvalidInput(f"The {what} is not an object with a namespace and a name.")
    return level(value.get("namespace")), checked_name(value.get("name"), what)

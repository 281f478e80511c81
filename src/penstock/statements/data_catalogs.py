"""Data catalogs: further names of the account's catalog, which statements and listings take beside AwsDataCatalog.

Source: Athena API reference, "CreateDataCatalog": a catalog of type GLUE names an account by its ``catalog-id``. Those of
other types lead to what this server does not run (functions, Hive metastores, connectors), and are refused by name.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.paging import Page, page
from penstock.statements.errors import InvalidResource, ResourceExists, UnknownName
from penstock.statements.resources import AccountResource, ResourceKind, ResourceStore
from penstock.tags import changed_tags, check_tags

__all__ = ["CATALOG_NAME", "DataCatalog", "DataCatalogs"]

CATALOG_NAME = "AwsDataCatalog"
"""The catalog that every account has."""
MAX_DATA_CATALOGS = 1_000
"""A bound of ours."""
_GLUE = "GLUE"
_ID = "catalog-id"
_NAME = re.compile(r"[\w@-]{1,127}", re.ASCII)
_OWN = CATALOG_NAME.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class DataCatalog(AccountResource):
    """One name of the account's catalog; names that differ in case alone are the same one."""

    shown: str
    """The name as it was given."""
    description: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)


_KIND: ResourceKind[DataCatalog] = ResourceKind("data-catalog", lambda stored: DataCatalog(**stored))


class DataCatalogs:
    """The data catalogs of one ``account``."""

    def __init__(self, store: ResourceStore, *, account: str) -> None:
        self._store = store
        self._account = account

    def find(self, name: str) -> str | None:
        """Return the stored spelling of the catalog that SQL calls ``name``, in any case; None if there is none."""
        if name.lower() == _OWN:
            return CATALOG_NAME
        data_catalog = self._store.get(_KIND, "", name.lower())
        return None if data_catalog is None else data_catalog.shown

    def get(self, name: str) -> DataCatalog:
        """Return the data catalog of exactly this name, as policies name it. Raises :class:`UnknownName`."""
        if name.lower() == _OWN:
            return DataCatalog(name=_OWN, shown=CATALOG_NAME)
        data_catalog = self._store.get(_KIND, "", name.lower())
        if data_catalog is None or data_catalog.shown != name:
            raise _unknown(name)
        return data_catalog

    def list(self, *, limit: int, token: str | None = None) -> Page[DataCatalog]:
        """Return a page of data catalogs, by name. Raises :class:`penstock.paging.InvalidToken`."""
        own = self.get(CATALOG_NAME)

        def read(after: str | None, count: int) -> list[DataCatalog]:
            data_catalogs = list(self._store.list(_KIND, "", after=after, limit=count))
            if after is None or after < _OWN:
                data_catalogs = sorted([*data_catalogs, own], key=lambda data_catalog: data_catalog.name)
            return data_catalogs[:count]

        return page("data-catalogs", token, limit, read, lambda data_catalog: data_catalog.name, kind=str)

    def create(
        self,
        name: str,
        kind: str,
        *,
        description: str | None = None,
        parameters: Mapping[str, str] | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> DataCatalog:
        """Store a data catalog.

        Raises :class:`InvalidResource` for a type or a ``catalog-id`` that statements cannot reach, :class:`ResourceExists`,
        :class:`penstock.errors.LimitExceeded`.
        """
        if _NAME.fullmatch(name) is None:
            raise InvalidResource(
                f"'{name[:100]}' is not a name of a data catalog.",
                remedy="A name has 1 to 127 letters, digits, underscores, at signs and hyphens.",
            )
        self._check(kind, parameters or {})
        check_tags(tags or {})
        data_catalog = DataCatalog(
            name=name.lower(),
            shown=name,
            description=description,
            parameters=dict(parameters or {}),
            tags=dict(tags or {}),
        )
        if name.lower() == _OWN or not self._store.add(_KIND, data_catalog, limit=MAX_DATA_CATALOGS):
            raise ResourceExists(f"DataCatalog {name} already exists")
        return data_catalog

    def update(
        self, name: str, kind: str, *, description: str | None = None, parameters: Mapping[str, str] | None = None
    ) -> None:
        """Replace what is given. Raises as :meth:`create`, and :class:`UnknownName`."""
        if parameters is not None:
            self._check(kind, parameters)
        else:
            _check_kind(kind)

        def changed(old: DataCatalog) -> DataCatalog:
            return replace(
                old,
                description=old.description if description is None else description,
                parameters=old.parameters if parameters is None else dict(parameters),
            )

        self._change(name, changed)

    def change_tags(self, name: str, *, add: Mapping[str, str] | None = None, remove: Sequence[str] = ()) -> None:
        """Add or replace tags, then remove some. Raises :class:`UnknownName`, :class:`InvalidResource`."""
        check_tags(add or {})
        self._change(name, lambda old: replace(old, tags=changed_tags(old.tags, add or {}, remove)))

    def delete(self, name: str) -> DataCatalog:
        """Remove a data catalog, and nothing of what it names. Raises :class:`UnknownName`, :class:`InvalidResource`."""
        data_catalog = self._changeable(name)
        if not self._store.delete(_KIND, "", data_catalog.name):
            raise _unknown(name)
        return data_catalog

    def _change(self, name: str, changed: Callable[[DataCatalog], DataCatalog]) -> None:
        if self._store.change(_KIND, "", self._changeable(name).name, changed) is None:
            raise _unknown(name)

    def _changeable(self, name: str) -> DataCatalog:
        if name.lower() == _OWN:
            raise InvalidResource(f"{CATALOG_NAME} is the account's own catalog, and cannot be changed.")
        return self.get(name)

    def _check(self, kind: str, parameters: Mapping[str, str]) -> None:
        _check_kind(kind)
        unknown = sorted(set(parameters) - {_ID})
        if unknown or _ID not in parameters:
            what = f"has the unknown parameter '{unknown[0][:100]}'" if unknown else f"needs the parameter '{_ID}'"
            raise InvalidResource(f"A data catalog of type {_GLUE} {what}.", remedy=f"Give {_ID} alone.")
        if parameters[_ID] != self._account:
            raise InvalidResource(
                f"The {_ID} {parameters[_ID][:50]} is not the account's own: statements read the account's own catalog.",
                remedy=f"Give {self._account}; the other account grants a right on its tables.",
            )


def _check_kind(kind: str) -> None:
    if kind != _GLUE:
        raise InvalidResource(
            f"Data catalogs of type {kind} are not served: there are no connectors.", remedy=f"The type {_GLUE} is served."
        )


def _unknown(name: str) -> UnknownName:
    return UnknownName(f"Data catalog {name[:256]} was not found", remedy="ListDataCatalogs names the existing ones.")

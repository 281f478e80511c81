"""Work groups: the settings of the statements that run in them.

Sources: Athena API reference, "WorkGroupConfiguration" and "CreateWorkGroup"; Athena user guide, "How workgroups work",
"Override client-side settings" and "Service Quotas" (1,000 work groups in a Region).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from penstock.paging import Page, page
from penstock.statements.errors import InvalidResource, ResourceExists, UnknownName
from penstock.statements.model import ResultOptions
from penstock.statements.resources import AccountResource, ResourceKind, ResourceStore
from penstock.tags import check_tags

__all__ = [
    "AUTO",
    "ENGINES",
    "MAX_WORK_GROUPS",
    "NATIVE",
    "PRIMARY",
    "SPARK_SQL",
    "WORK_GROUPS",
    "WorkGroup",
    "WorkGroupSettings",
    "WorkGroups",
]

PRIMARY = "primary"
"""The work group that every account has, and that statements run in if they name none."""
MAX_WORK_GROUPS = 1_000
AUTO = "AUTO"
NATIVE = "Athena engine version 3"
SPARK_SQL = "Spark SQL engine version 4"
"""Spark SQL computes the queries; the statements are in Athena's dialect as before."""
ENGINES = (AUTO, NATIVE, SPARK_SQL)
"""What a work group can select."""
# The built-in work group was never created; clients only display the time.
_BUILT = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkGroupSettings:
    """Athena's WorkGroupConfiguration."""

    output_location: str | None = None
    """``s3://BUCKET/PREFIX/`` of results."""
    options: ResultOptions = field(default_factory=ResultOptions)
    managed: bool = False
    """Whether Athena keeps the results itself: they have no location, and can be read for 24 hours."""
    managed_key: str | None = None
    """The KMS key that managed results name."""
    enforced: bool = True
    """Whether the work group's result settings replace those of a request."""
    publish_metrics: bool = True
    requester_pays: bool = False
    minimum_encryption: bool = False
    bytes_cutoff: int | None = None
    """The greatest number of bytes that a statement may read."""
    engine: str = AUTO


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkGroup(AccountResource):
    """One work group."""

    settings: WorkGroupSettings
    description: str = ""
    enabled: bool = True
    created: datetime
    tags: Mapping[str, str] = field(default_factory=dict)


def _load(members: Mapping[str, Any]) -> WorkGroup:
    settings = members["settings"]
    read = WorkGroupSettings(**{**settings, "options": ResultOptions(**settings["options"])})
    return WorkGroup(**{**members, "settings": read, "created": datetime.fromisoformat(members["created"])})


WORK_GROUPS = ResourceKind("work group", _load)


class WorkGroups:
    """The work groups of one account.

    ``output_location`` is the result location that ``primary`` has until it is changed. ``is_used`` and ``forget`` are
    about a work group's statements: whether there are any, and how they are forgotten when it is deleted.
    """

    def __init__(
        self,
        store: ResourceStore,
        *,
        account: str,
        output_location: str,
        is_used: Callable[[str], bool] = lambda _name: False,
        forget: Callable[[str], None] = lambda _name: None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._store = store
        self._account = account
        self._is_used = is_used
        self._forget = forget
        self._clock = clock
        settings = WorkGroupSettings(output_location=output_location, enforced=False, publish_metrics=False)
        self._primary = WorkGroup(name=PRIMARY, settings=settings, created=_BUILT)

    def get(self, name: str) -> WorkGroup:
        """Return one work group. Raises :class:`UnknownName`."""
        work_group = self._store.get(WORK_GROUPS, "", name)
        if work_group is not None:
            return work_group
        if name == PRIMARY:
            return self._primary
        raise UnknownName(f"WorkGroup {name} is not found.")

    def list(self, *, limit: int, token: str | None = None) -> Page[WorkGroup]:
        """Return a page of work groups by name. Raises :class:`penstock.paging.InvalidToken`."""

        def read(after: str | None, count: int) -> list[WorkGroup]:
            work_groups = {
                work_group.name: work_group for work_group in self._store.list(WORK_GROUPS, "", after=after, limit=count)
            }
            if after is None or after < PRIMARY:
                work_groups.setdefault(PRIMARY, self._primary)
            return [work_groups[name] for name in sorted(work_groups)][:count]

        return page("work-groups", token, limit, read, lambda work_group: work_group.name, kind=str)

    def create(
        self, name: str, settings: WorkGroupSettings, *, description: str = "", tags: Mapping[str, str] | None = None
    ) -> WorkGroup:
        """Store a new work group.

        Raises :class:`ResourceExists` if the name is taken, :class:`InvalidResource` for settings that contradict one
        another, and :class:`penstock.errors.LimitExceeded` for more than :data:`MAX_WORK_GROUPS`.
        """
        self._check(settings)
        check_tags(tags or {})
        work_group = WorkGroup(
            name=name, settings=settings, description=description, created=self._clock(), tags=dict(tags or {})
        )
        if name == PRIMARY or not self._store.add(WORK_GROUPS, work_group, limit=MAX_WORK_GROUPS):
            raise ResourceExists("WorkGroup is already created")
        return work_group

    def change(self, name: str, change: Callable[[WorkGroup], WorkGroup]) -> WorkGroup:
        """Replace the work group by ``change`` of it, which keeps name and creation time; return the new one.

        Raises :class:`UnknownName`, and :class:`InvalidResource` as :meth:`create` does.
        """

        def checked(old: WorkGroup) -> WorkGroup:
            new = change(old)
            self._check(new.settings)
            return replace(new, name=old.name, created=old.created)

        if name == PRIMARY:
            # It is stored from its first change on.
            self._store.add(WORK_GROUPS, self._primary, limit=MAX_WORK_GROUPS + 1)
        changed = self._store.change(WORK_GROUPS, "", name, checked)
        if changed is None:
            raise UnknownName(f"WorkGroup {name} is not found.")
        return changed

    def delete(self, name: str, *, recursive: bool) -> None:
        """Delete a work group, and what is in it if ``recursive``; its results remain.

        Raises :class:`UnknownName`, and :class:`InvalidResource` for ``primary`` or if it is not empty.
        """
        if name == PRIMARY:
            raise InvalidResource(f"WorkGroup {PRIMARY} cannot be deleted.", remedy="Disable it by UpdateWorkGroup.")
        self.get(name)
        if not recursive and (self._is_used(name) or not self._store.is_empty(name)):
            raise InvalidResource(
                f"WorkGroup {name} is not empty.", remedy="Delete what is in it, or give RecursiveDeleteOption."
            )
        if self._store.delete_with_scope(WORK_GROUPS, "", name, within=name):
            self._forget(name)

    def check_options(self, options: ResultOptions) -> None:
        """Raise :class:`InvalidResource` for options that cannot be met, of a work group or of a request."""
        if options.encryption == "CSE_KMS":
            raise InvalidResource(
                "EncryptionOption CSE_KMS is not served here.", remedy="Give SSE_S3 or SSE_KMS, or leave it out."
            )
        if options.encryption == "SSE_KMS" and not options.kms_key:
            raise InvalidResource("EncryptionOption SSE_KMS needs a KmsKey.")
        if options.expected_bucket_owner not in {None, self._account}:
            raise InvalidResource(
                f"ExpectedBucketOwner is {options.expected_bucket_owner}, and results are in buckets of {self._account}.",
                remedy="Leave it out, or give the account of the work group.",
            )

    def _check(self, settings: WorkGroupSettings) -> None:
        if settings.managed and (settings.output_location is not None or settings.options != ResultOptions()):
            raise InvalidResource(
                "A work group with managed query results has no ResultConfiguration.",
                remedy="Leave one of ResultConfiguration and ManagedQueryResultsConfiguration out.",
            )
        if settings.engine not in ENGINES:
            raise InvalidResource(
                f"The engine version '{settings.engine[:100]}' is not served here.",
                remedy=f"Select {' or '.join(ENGINES)}.",
            )
        self.check_options(settings.options)

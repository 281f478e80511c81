"""The life cycle of a SQL statement as values: the request, the state, the result.

States and fields follow Athena's QueryExecution. A statement goes QUEUED → RUNNING → SUCCEEDED, FAILED or CANCELLED;
the last three are final.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NewType

__all__ = [
    "FINAL_STATES",
    "WRITING",
    "ResultColumn",
    "ResultOptions",
    "Statement",
    "StatementFailure",
    "StatementId",
    "StatementPage",
    "StatementState",
    "StatementStatistics",
    "StatementType",
]

StatementId = NewType("StatementId", str)


class StatementState(StrEnum):
    """The state of a statement."""

    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


WRITING = frozenset({"CREATE_TABLE_AS_SELECT", "INSERT", "UNLOAD", "MERGE", "UPDATE", "DELETE"})
"""The substatements whose statements write rows."""
FINAL_STATES = frozenset({StatementState.SUCCEEDED, StatementState.FAILED, StatementState.CANCELLED})


class StatementType(StrEnum):
    """Athena's three kinds; SELECT is DML, SHOW and DESCRIBE are UTILITY."""

    DDL = "DDL"
    DML = "DML"
    UTILITY = "UTILITY"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultColumn:
    """One column of a result, as Athena's ColumnInfo describes it."""

    name: str
    type: str
    precision: int = 0
    scale: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultOptions:
    """How a result is stored, as Athena's ResultConfiguration says it; what has an effect here is in docs/lake/athena.md."""

    encryption: str | None = None
    """SSE_S3 or SSE_KMS."""
    kms_key: str | None = None
    expected_bucket_owner: str | None = None
    """The account whose bucket the result has to be in."""
    acl: str | None = None
    """BUCKET_OWNER_FULL_CONTROL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementFailure:
    """Why a statement failed. ``category``: 1 system, 2 user, 3 other (Athena's error categories)."""

    message: str
    category: int = 2
    type: int = 1006
    retryable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementStatistics:
    """Times in milliseconds, sizes in bytes. ``files_scanned`` counts the data files that were opened."""

    queue_ms: int = 0
    planning_ms: int = 0
    engine_ms: int = 0
    service_ms: int = 0
    total_ms: int = 0
    scanned_bytes: int = 0
    scanned_rows: int | None = None
    """None if the engine did not count them."""
    files_scanned: int = 0
    partitions_scanned: int = 0
    partitions_total: int = 0
    """How many partitions were considered: those that the catalog found by its index, or all of the table."""
    output_bytes: int = 0
    output_rows: int = 0
    reused: bool = False
    """Whether the result is that of an earlier statement."""
    update_count: int | None = None
    """How many rows the statement wrote, changed or deleted; None if it is not one of that kind."""
    manifest_uri: str | None = None
    """The object that lists the data files that the statement wrote; None if it wrote none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement. ``owner`` names the worker process that runs it, ``heartbeat`` is that process's last sign of life.

    ``output_location`` is the requested folder, ``result_uri`` the object of this statement's result.
    """

    id: StatementId
    sql: str
    type: StatementType
    substatement: str | None = None
    catalog: str = "AwsDataCatalog"
    database: str | None = None
    workgroup: str = "primary"
    output_location: str
    result_uri: str
    options: ResultOptions = field(default_factory=ResultOptions)
    engine: str = "AUTO"
    """What its work group selected, of :data:`penstock.statements.work_groups.ENGINES`."""
    managed: bool = False
    """Whether the work group keeps the result itself: then clients are not told where it is."""
    parameters: tuple[str, ...] = ()
    token: str | None = None
    principal: str = ""
    reuse_minutes: int | None = None
    """The greatest age of an earlier result that is returned instead of running the statement; None runs it."""
    digest: str | None = None
    """Equal for two statements that may reuse each other's results."""
    state: StatementState = StatementState.QUEUED
    submitted: datetime
    started: datetime | None = None
    completed: datetime | None = None
    reason: str | None = None
    failure: StatementFailure | None = None
    statistics: StatementStatistics = field(default_factory=StatementStatistics)
    columns: tuple[ResultColumn, ...] = ()
    owner: str
    heartbeat: datetime
    cancel_requested: bool = False

    @property
    def has_rows(self) -> bool:
        """Whether ``result_uri`` is an object with rows: a statement that writes has none, and its name no ending."""
        return self.result_uri.endswith((".csv", ".txt"))


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementPage:
    """Ids, newest first, and the token of the next page."""

    ids: tuple[StatementId, ...]
    next_token: str | None = None

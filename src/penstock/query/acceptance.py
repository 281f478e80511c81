"""How a request becomes a statement: the work group's settings are applied, and what cannot run is refused."""

import hashlib
import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from penstock.errors import InvalidInput
from penstock.lake.locations import parse_uri
from penstock.query.execution.children import ChildPool
from penstock.query.execution.messages import ParsedText
from penstock.query.permitted_catalog import PermittedStatements, permitted_name
from penstock.query.ports import CATALOG_NAME, CatalogAccess, ResultSink
from penstock.query.settings import QuerySettings
from penstock.query.task import StatementText
from penstock.sql.errors import InvalidRequest
from penstock.statements.data_catalogs import DataCatalogs
from penstock.statements.errors import ResourceNotFound
from penstock.statements.model import WRITING, ResultOptions, Statement, StatementId, StatementType
from penstock.statements.work_groups import PRIMARY, SPARK_SQL, WorkGroup, WorkGroups

__all__ = ["Acceptance", "StatementRequest", "check_same"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementRequest:
    """A client's request to run a statement."""

    sql: str
    database: str | None = None
    catalog: str | None = None
    workgroup: str | None = None
    output_location: str | None = None
    options: ResultOptions = field(default_factory=ResultOptions)
    parameters: Sequence[str] = ()
    token: str | None = None
    principal: str = ""
    reuse_minutes: int | None = None
    """The greatest age of an earlier result that is returned instead of running the statement; None runs it."""
    catalog_access: CatalogAccess | None = None
    """What the caller may read of the catalog; None lets the statement read all of it."""


class Acceptance:
    """Makes statements of requests. ``owner`` is the process that will run them."""

    def __init__(
        self,
        work_groups: WorkGroups,
        data_catalogs: DataCatalogs,
        *,
        sink: ResultSink,
        settings: QuerySettings,
        children: ChildPool,
        owner: str,
        spark: bool,
    ) -> None:
        self._work_groups = work_groups
        self._data_catalogs = data_catalogs
        self._sink = sink
        self._settings = settings
        self._children = children
        self._owner = owner
        self._spark = spark

    def work_group(self, name: str | None) -> WorkGroup:
        """Return the work group that a request names; :class:`~penstock.errors.PenstockError` if it runs no statements."""
        group = self._work_groups.get(name or PRIMARY)
        if not group.enabled:
            raise InvalidRequest(f"WorkGroup {group.name} is disabled.", remedy="Enable it by UpdateWorkGroup.")
        if group.settings.engine == SPARK_SQL and not self._spark:
            raise InvalidRequest(
                f"WorkGroup {group.name} selects {SPARK_SQL}, and this server was started without Spark.",
                remedy="pip install 'penstock[server,spark]', and start it with --spark-master.",
            )
        return group

    def accept(
        self, request: StatementRequest, group: WorkGroup, prepared: PermittedStatements, *, at: datetime
    ) -> tuple[Statement, StatementText]:
        """Return the statement, which is not stored yet, and what runs. Raises :class:`InvalidRequest` if it cannot."""
        text = StatementText(request.sql, tuple(request.parameters))
        parsed = self._children.parse(text.sql, text.parameters)
        executed = _executed(parsed, prepared)
        if executed is not None:
            text = StatementText(executed, parsed.parameters)
            parsed = self._children.parse(text.sql, text.parameters)
            if parsed.prepared is not None or parsed.immediate is not None:
                raise InvalidRequest("A prepared statement cannot be EXECUTE.")
        catalog = self._catalog(request)
        location, options = self._results(request, group)
        statement_id = StatementId(str(uuid.uuid4()))
        is_reusable = parsed.type is StatementType.DML and parsed.substatement not in WRITING
        statement = Statement(
            id=statement_id,
            sql=request.sql,
            type=parsed.type,
            substatement=parsed.substatement,
            catalog=catalog,
            database=_database(request),
            workgroup=group.name,
            output_location=location,
            result_uri=f"{location.rstrip('/')}/{statement_id}{_ending(parsed)}",
            options=options,
            engine=group.settings.engine,
            managed=group.settings.managed,
            parameters=tuple(request.parameters),
            token=request.token,
            principal=request.principal,
            reuse_minutes=request.reuse_minutes if is_reusable else None,
            digest=_digest(request, text, group, location) if is_reusable else None,
            submitted=at,
            owner=self._owner,
            heartbeat=at,
        )
        return statement, text

    def _catalog(self, request: StatementRequest) -> str:
        """Return the name of the catalog that a request names. Raises :class:`InvalidRequest`, AccessDenied."""
        requested = request.catalog or CATALOG_NAME
        name = permitted_name(self._data_catalogs.find, requested, request.catalog_access)
        if name is None:
            raise InvalidRequest(
                f"Catalog {requested[:100]} does not exist.", remedy="ListDataCatalogs names the existing ones."
            )
        return name

    def _results(self, request: StatementRequest, group: WorkGroup) -> tuple[str, ResultOptions]:
        """Return where the result goes and how it is stored: the work group's settings, or those of the request."""
        settings = group.settings
        if settings.managed:
            if request.output_location is not None or request.options != ResultOptions():
                raise InvalidRequest(
                    f"WorkGroup {group.name} manages query results, and takes no ResultConfiguration.",
                    remedy="Leave it out, or choose another work group.",
                )
            return f"{self._settings.output_location.rstrip('/')}/managed/", ResultOptions()
        if settings.enforced or request.output_location is None:
            location = settings.output_location
        else:
            location = request.output_location
        if location is None:
            raise InvalidRequest(
                "No output location provided. An output location is required either through the Workgroup result "
                "configuration setting or as an API input."
            )
        options = settings.options if settings.enforced or request.options == ResultOptions() else request.options
        try:
            self._work_groups.check_options(options)
            parse_uri(location)
            if location != self._settings.output_location:
                self._sink.check(location)
        except InvalidInput as error:
            raise InvalidRequest(error.message, remedy=error.remedy) from error
        return location, options


def _executed(parsed: ParsedText, prepared: PermittedStatements) -> str | None:
    """Return the text that EXECUTE or EXECUTE IMMEDIATE runs; None for every other statement."""
    if parsed.prepared is None:
        return parsed.immediate
    try:
        return prepared.get(parsed.prepared)
    except ResourceNotFound as error:
        raise InvalidRequest(error.message, remedy="PREPARE makes one.") from error


def _ending(parsed: ParsedText) -> str:
    """Return how the name of a result ends, as Athena's do: that of a statement that writes has no ending."""
    if parsed.substatement in WRITING:
        return ""
    return ".csv" if parsed.type is StatementType.DML else ".txt"


def _database(request: StatementRequest) -> str | None:
    # awswrangler's DESCRIBE sends the name in backticks.
    return request.database.strip("`").lower() if request.database else None


def _digest(request: StatementRequest, text: StatementText, group: WorkGroup, location: str) -> str:
    """Return a digest that is equal for statements that may reuse each other's results.

    Source: Athena user guide, "Reuse query results": same text, database, work group and result location; here also the
    same caller.
    """
    parts = [
        text.sql,
        list(text.parameters),
        _database(request),
        group.name,
        location,
        request.principal,
        group.settings.engine,
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def check_same(stored: Statement, statement: Statement) -> None:
    """Raise :class:`InvalidRequest` if a token was used for another statement."""
    for name in ("sql", "database", "parameters", "output_location", "workgroup"):
        if getattr(stored, name) != getattr(statement, name):
            raise InvalidRequest(
                "Idempotent parameters do not match", remedy="Use a new ClientRequestToken for another statement."
            )

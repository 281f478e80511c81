"""Statements in the SQL store: one row each; every change of state is one UPDATE that names the state it leaves."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    String,
    Table,
    Text,
    bindparam,
    delete,
    false,
    insert,
    select,
    update,
)
from sqlalchemy.engine import RowMapping

from penstock.statements.model import (
    ResultColumn,
    ResultOptions,
    Statement,
    StatementFailure,
    StatementId,
    StatementPage,
    StatementState,
    StatementStatistics,
    StatementType,
)
from penstock.statements.store import page_position
from penstock.store.sql.database import Database, metadata
from penstock.store.sql.times import micros, time_of

__all__ = ["SqlStatementStore", "statements"]

statements = Table(
    "statements",
    metadata,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("id", String(64), nullable=False, unique=True),
    Column("sql", Text, nullable=False),
    Column("type", String(16), nullable=False),
    Column("substatement", String(64)),
    Column("catalog", String(256), nullable=False),
    Column("database", String(255)),
    Column("workgroup", String(128), nullable=False),
    Column("output_location", Text, nullable=False),
    Column("result_uri", Text, nullable=False),
    Column("parameters", Text, nullable=False),
    Column("token", String(128), unique=True),
    Column("principal", Text, nullable=False),
    Column("state", String(16), nullable=False),
    Column("submitted", BigInteger, nullable=False),
    Column("started", BigInteger),
    Column("completed", BigInteger),
    Column("reason", Text),
    Column("failure", Text),
    Column("statistics", Text, nullable=False),
    Column("columns", Text, nullable=False),
    Column("owner", String(255), nullable=False),
    Column("heartbeat", BigInteger, nullable=False),
    Column("cancel_requested", Boolean, nullable=False),
    Column("reuse_minutes", Integer),
    Column("digest", String(64)),
    Column("options", Text, nullable=False, server_default="{}"),
    Column("managed", Boolean, nullable=False, server_default=false()),
    Column("engine", String(64), nullable=False, server_default="AUTO"),
    Index("ix_statements_workgroup_number", "workgroup", "number"),
    Index("ix_statements_state", "state"),
    Index("ix_statements_digest_number", "digest", "number"),
    Index("ix_statements_completed", "completed"),
)

_UNFINISHED = (StatementState.QUEUED.value, StatementState.RUNNING.value)
_LOOKED_AT = 50  # statements of a digest that are searched for one with a result
_TIMES = ("submitted", "started", "completed", "heartbeat")


# What every statement runs is built once: building one takes as long as running it.
_ONE = select(statements).where(statements.c.id == bindparam("statement"))
_THIS = update(statements).where(statements.c.id == bindparam("statement"))
_QUEUED = _THIS.where(statements.c.state == StatementState.QUEUED.value)
_UNENDED = _THIS.where(statements.c.state.in_(_UNFINISHED))
_ADD = insert(statements)


class SqlStatementStore:
    """:class:`penstock.statements.store.StatementStore` over an SQL database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, statement: Statement) -> Statement:
        with self._database.write() as connection:
            if statement.token is not None:
                query = select(statements).where(statements.c.token == statement.token)
                earlier = connection.execute(query).mappings().first()
                if earlier is not None:
                    return _statement(earlier)
            connection.execute(_ADD, _row(statement))
        return statement

    def get(self, statement_id: StatementId) -> Statement | None:
        with self._database.read() as connection:
            row = connection.execute(_ONE, {"statement": statement_id}).mappings().first()
        return _statement(row) if row is not None else None

    def get_many(self, ids: Sequence[StatementId]) -> Sequence[Statement]:
        if len(ids) == 1:
            one = self.get(ids[0])
            return [one] if one is not None else []
        with self._database.read() as connection:
            rows = connection.execute(select(statements).where(statements.c.id.in_(ids))).mappings()
            by_id = {row["id"]: _statement(row) for row in rows}
        return [by_id[id_] for id_ in ids if id_ in by_id]

    def page(self, *, workgroup: str, limit: int, token: str | None = None) -> StatementPage:
        query = select(statements.c.number, statements.c.id).where(statements.c.workgroup == workgroup)
        if token is not None:
            query = query.where(statements.c.number < page_position(token))
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(statements.c.number.desc()).limit(limit + 1)).all()
        ids = tuple(StatementId(row.id) for row in rows[:limit])
        more = len(rows) > limit > 0
        return StatementPage(ids=ids, next_token=str(rows[limit - 1].number) if more else None)

    def latest(self, digest: str, *, since: datetime) -> Statement | None:
        query = select(statements).where(
            statements.c.digest == digest,
            statements.c.state == StatementState.SUCCEEDED.value,
            statements.c.completed >= micros(since),
        )
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(statements.c.number.desc()).limit(_LOOKED_AT)).mappings()
            return next((statement for statement in map(_statement, rows) if not statement.statistics.reused), None)

    def start(self, statement_id: StatementId, *, at: datetime) -> bool:
        change = {"statement": statement_id, "state": StatementState.RUNNING.value, "started": micros(at)}
        # Of a power loss all statements of a process die, whether queued or running.
        with self._database.write(synced=False) as connection:
            return connection.execute(_QUEUED, change).rowcount == 1

    def finish(
        self,
        statement_id: StatementId,
        state: StatementState,
        *,
        at: datetime,
        reason: str | None = None,
        failure: StatementFailure | None = None,
        statistics: StatementStatistics | None = None,
        columns: Sequence[ResultColumn] = (),
    ) -> bool:
        values: dict[str, Any] = {
            "statement": statement_id,
            "state": state.value,
            "completed": micros(at),
            "reason": reason,
            "failure": _json(failure),
            "columns": _json(list(columns)),
        }
        if statistics is not None:
            values["statistics"] = _json(statistics)
        with self._database.write() as connection:
            return connection.execute(_UNENDED, values).rowcount == 1

    def request_cancel(self, statement_id: StatementId, *, at: datetime, reason: str) -> StatementState | None:
        this = update(statements).where(statements.c.id == statement_id)
        with self._database.write() as connection:
            connection.execute(
                this.where(statements.c.state == StatementState.QUEUED.value).values(
                    state=StatementState.CANCELLED.value, completed=micros(at), reason=reason
                )
            )
            connection.execute(this.where(statements.c.state == StatementState.RUNNING.value).values(cancel_requested=True))
            state = connection.execute(select(statements.c.state).where(statements.c.id == statement_id)).scalar()
        return None if state is None else StatementState(state)

    def cancelled_among(self, ids: Sequence[StatementId]) -> frozenset[StatementId]:
        if not ids:
            return frozenset()
        query = select(statements.c.id).where(statements.c.id.in_(ids), statements.c.cancel_requested)
        with self._database.read() as connection:
            return frozenset(StatementId(scalar) for scalar in connection.execute(query).scalars())

    def beat(self, owner: str, *, at: datetime) -> None:
        change = update(statements).where(statements.c.owner == owner, statements.c.state.in_(_UNFINISHED))
        with self._database.write(synced=False) as connection:
            connection.execute(change.values(heartbeat=micros(at)))

    def take(
        self, statement_id: StatementId, owner: str, *, of: str, at: datetime, heartbeat: datetime | None = None
    ) -> bool:
        change = update(statements).where(
            statements.c.id == statement_id, statements.c.state.in_(_UNFINISHED), statements.c.owner == of
        )
        if heartbeat is not None:
            change = change.where(statements.c.heartbeat == micros(heartbeat))
        with self._database.write(synced=False) as connection:
            return connection.execute(change.values(owner=owner, heartbeat=micros(at))).rowcount == 1

    def unfinished(self) -> Sequence[Statement]:
        query = select(statements).where(statements.c.state.in_(_UNFINISHED)).order_by(statements.c.number)
        with self._database.read() as connection:
            return [_statement(mapping) for mapping in connection.execute(query).mappings()]

    def finished(
        self,
        *,
        limit: int,
        before: datetime | None = None,
        workgroup: str | None = None,
        with_managed_result: bool = False,
    ) -> Sequence[Statement]:
        query = select(statements).where(statements.c.completed.is_not(None))
        if before is not None:
            query = query.where(statements.c.completed < micros(before))
        if workgroup is not None:
            query = query.where(statements.c.workgroup == workgroup)
        if with_managed_result:
            query = query.where(statements.c.managed, statements.c.result_uri != "")
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(statements.c.completed, statements.c.number).limit(limit))
            return [_statement(mapping) for mapping in rows.mappings()]

    def drop_results(self, ids: Sequence[StatementId]) -> None:
        with self._database.write() as connection:
            connection.execute(update(statements).where(statements.c.id.in_(ids)).values(result_uri=""))

    def forget(self, ids: Sequence[StatementId]) -> None:
        with self._database.write() as connection:
            connection.execute(delete(statements).where(statements.c.id.in_(ids), statements.c.completed.is_not(None)))


def _row(statement: Statement) -> dict[str, Any]:
    row: dict[str, Any] = {name: getattr(statement, name) for name in statements.c.keys() if name != "number"}  # noqa: SIM118
    for name in _TIMES:
        row[name] = None if row[name] is None else micros(row[name])
    row["type"], row["state"] = statement.type.value, statement.state.value
    for name in ("options", "parameters", "failure", "statistics", "columns"):
        row[name] = _json(row[name])
    return row


def _statement(row: RowMapping) -> Statement:
    values: dict[str, Any] = {name: value for name, value in row.items() if name != "number"}
    for name in _TIMES:
        values[name] = None if values[name] is None else time_of(values[name])
    values["type"], values["state"] = StatementType(values["type"]), StatementState(values["state"])
    values["options"] = ResultOptions(**json.loads(values["options"]))
    values["parameters"] = tuple(json.loads(values["parameters"]))
    failure = json.loads(values["failure"]) if values["failure"] is not None else None
    values["failure"] = None if failure is None else StatementFailure(**failure)
    values["statistics"] = StatementStatistics(**json.loads(values["statistics"]))
    values["columns"] = tuple(ResultColumn(**column) for column in json.loads(values["columns"]))
    return Statement(**values)


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, default=asdict)

"""The child's side of what a statement does outside its process: each call is sent to the owner, which checks it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from penstock.catalog.model import Database, Partition, Table
from penstock.children.frames import Channel
from penstock.children.messages import MessageReader, encode
from penstock.lake.permitted import TableKey
from penstock.lakeformation.decisions import TableAccess
from penstock.query.execution.messages import QUESTIONS, RAISED, Ask, HostFailed, Raised, Value
from penstock.query.ports import CATALOG_NAME, Publication
from penstock.sql.spark_query import SparkQuery, SparkRows

__all__ = ["HostEnded", "RemoteHost"]


class HostEnded(Exception):
    """The owner's side raised an error. The owner has it and ends the statement with it."""


class RemoteHost:
    """A :class:`penstock.query.ports.StatementHost` over the owner's.

    Each read is sent once a statement, however often its text names the table, because replies cost the owner's time. A
    change makes the statement read anew.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._answers: dict[tuple[str | None, ...], Any] = {}

    def is_named(self, name: str) -> bool:
        return name.lower() == CATALOG_NAME.lower() or bool(self._read("is_named", name.lower()))

    def databases(self) -> Sequence[Database]:
        return self._read("databases")  # type: ignore[no-any-return]

    def database(self, name: str) -> Database:
        return self._read("database", name)  # type: ignore[no-any-return]

    def tables(self, database: str) -> Sequence[Table]:
        return self._read("tables", database)  # type: ignore[no-any-return]

    def visible_tables(self, database: str) -> Sequence[Table]:
        return self._read("visible_tables", database)  # type: ignore[no-any-return]

    def table(self, database: str, name: str) -> Table:
        return self._read("table", database, name)  # type: ignore[no-any-return]

    def partitions(self, database: str, table: str, expression: str | None = None) -> Sequence[Partition]:
        return self._read("partitions", database, table, expression)  # type: ignore[no-any-return]

    def reading(self, database: str, table: str, columns: Sequence[str]) -> TableAccess | None:
        return self._request("reading", database, table, list(columns))  # type: ignore[no-any-return]

    def hides_columns(self) -> bool:
        return bool(self._read("hides_columns"))

    def visible_columns(self, database: str, table: str, columns: Sequence[str]) -> Collection[str] | None:
        return self._request("visible_columns", database, table, list(columns))  # type: ignore[no-any-return]

    def check_writing(self, database: str, table: str, permissions: Sequence[str]) -> None:
        self._request("check_writing", database, table, list(permissions))

    def check_files(self, action: str, uris: Sequence[str], table: TableKey | None = None, /) -> Sequence[str]:
        return self._request("check_files", action, list(uris), table)  # type: ignore[no-any-return]

    def change(self, operation: str, request: Mapping[str, Any], /) -> Mapping[str, Any]:
        self._answers.clear()
        return self._request("change", operation, request)  # type: ignore[no-any-return]

    def compute(self, query: SparkQuery, /) -> SparkRows:
        return self._request("compute", query)  # type: ignore[no-any-return]

    def publish(self, files: Sequence[Publication], table: TableKey | None = None) -> None:
        self._request("publish", list(files), table)

    def remove(self, uris: Sequence[str], table: TableKey | None = None) -> None:
        self._request("remove", list(uris), table)

    def _read(self, name: str, *arguments: str | None) -> Any:
        if (name, *arguments) not in self._answers:
            self._answers[name, *arguments] = self._request(name, *arguments)
        return self._answers[name, *arguments]

    def _request(self, name: str, *arguments: Any) -> Any:
        self._channel.send(encode(Ask(name=name, arguments=msgspec.Raw(encode(arguments)))))
        head, body = self._channel.receive()
        reply = _READER.read(head)
        if isinstance(reply, Raised):
            raise RAISED[reply.error](reply.message, remedy=reply.remedy)
        if isinstance(reply, HostFailed):
            raise HostEnded
        return QUESTIONS[name].result.read(body)


_READER: MessageReader[Value | Raised | HostFailed] = MessageReader(Value | Raised | HostFailed)

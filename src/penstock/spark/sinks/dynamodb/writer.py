"""The writer of the DynamoDB sink.

Rows come to the driver a partition at a time and are written by threads. The executors need nothing for that, neither
boto3 nor credentials, and the table's capacity bounds the rate in any case. Items of a batch have different keys, so that
their order does not matter, and writing them again changes nothing.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.types import StructType

from penstock.client.connection import error_code, open_client, translated_errors
from penstock.errors import DataProblem, EnvironmentProblem, InvalidInput, NotFound
from penstock.pipelines.sinks.dynamodb import MARKER, DynamoDbSink
from penstock.retries import DYNAMODB_WRITE, call_with_retries
from penstock.spark.quoting import quoted
from penstock.spark.sinks.changes import DELETED, latest_changes, written_columns
from penstock.spark.sinks.driver_rows import check_all_rows, rows_on_driver
from penstock.spark.sinks.dynamodb.values import Attribute, Encoder, encoder, prepared
from penstock.spark.sinks.port import Published, SinkBatch

if TYPE_CHECKING:
    from boto3.session import Session

__all__ = ["Conditions", "DynamoDbWriter", "Write", "write_batch"]

_PER_REQUEST = 25  # DynamoDB's limit for BatchWriteItem
_ROWS_AT_ONCE = 20_000
_ATTEMPTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One row: its item, None to delete the item with ``key``."""

    key: Mapping[str, Attribute]
    item: Mapping[str, Attribute] | None


class Conditions:
    """The conditions of a batch's writes. Markers are ``QUERY:NUMBER``, the number with 12 digits, so that text compares.

    An item of an earlier checkpoint's query may be replaced, one of a later batch of this query may not.
    """

    def __init__(self, query: str, number: int, keys: Sequence[str]) -> None:
        self.marker: Attribute = {"S": f"{query}:{number:012d}"}
        self._replace = {
            "ConditionExpression": "attribute_not_exists(#m) OR NOT begins_with(#m, :q) OR #m <= :m",
            "ExpressionAttributeNames": {"#m": MARKER},
            "ExpressionAttributeValues": {":q": {"S": f"{query}:"}, ":m": self.marker},
        }
        self._append = {
            "ConditionExpression": "attribute_not_exists(#k)",
            "ExpressionAttributeNames": {"#k": keys[0]},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }

    def arguments(self, mode: str) -> Mapping[str, Any]:
        """Return the arguments of PutItem and DeleteItem that state the condition."""
        return self._append if mode == "append" else self._replace

    def ours(self, error: ClientError) -> bool:
        """Return whether the item that was there had been written by this batch, in an earlier attempt."""
        answer: Mapping[str, Any] = error.response
        return bool(answer.get("Item", {}).get(MARKER) == self.marker)


class DynamoDbWriter:
    """Implements :class:`~penstock.spark.sinks.port.SinkWriter`.

    ``client`` None: one of ``session``, or boto3's as the environment says.
    """

    def __init__(self, sink: DynamoDbSink, client: Any = None, *, session: "Session | None" = None) -> None:
        self._sink = sink
        self._client = client
        self._session = session
        self._keys: tuple[str, ...] = ()

    @property
    def settings(self) -> DynamoDbSink:
        """See :class:`~penstock.spark.sinks.port.SinkWriter`."""
        return self._sink

    def check(self) -> None:
        """See :class:`~penstock.spark.sinks.port.SinkWriter`: the table exists, and its keys are the declared ones."""
        self._table_keys()

    def table(self) -> StructType | None:
        """See :class:`~penstock.spark.sinks.port.SinkWriter`: items have any attributes."""
        return None

    def publish(self, batch: SinkBatch) -> Published:
        """See :class:`~penstock.spark.sinks.port.SinkWriter`. ``rows`` counts those that the table has now."""
        sink, keys = self._sink, self._table_keys()
        columns = batch.columns if sink.mode == "append" else written_columns(batch.rows.schema, sink)
        if lost := [key for key in keys if key not in columns.names]:
            raise InvalidInput(
                f"Sink {sink.name}: the rows lack {', '.join(lost)}, of the keys of table {sink.table}.",
                remedy=f"The rows have: {', '.join(columns.names)}.",
            )
        if MARKER in columns.names:
            raise InvalidInput(f"Sink {sink.name}: a column is named {MARKER}, as the sink's own attribute.")
        encoders = [(name, encoder(name, columns[name].dataType, sets=sink.sets)) for name in columns.names]
        conditions = Conditions(batch.query, batch.number, keys)
        deletes = sink.mode != "append"
        rows = latest_changes(batch.rows, sink) if deletes else batch.rows
        # What `prepared` does not change: the boolean of deletions.
        names = [*columns.names, DELETED] if deletes else columns.names
        ready = prepared(rows.select(*(F.col(quoted(name)) for name in names)))
        marker = conditions.marker if sink.conditional else None
        read = _Counted(rows_on_driver(ready, batch.count, at_once=_ROWS_AT_ONCE))
        writes = _writes(read, encoders, keys, marker, deletes=deletes)
        if sink.conditional:
            written = self._write_all(writes, lambda group: self._conditional(group[0], conditions), size=1)
        else:
            written = self._write_all(writes, self._batch, size=_PER_REQUEST)
        expected = ready.count() if deletes else batch.count
        check_all_rows(sink.name, read.count, expected)
        return Published(rows=written)

    def load(self, rows: DataFrame) -> int:
        """Put every row, without a condition and a marker; of rows with the same key one is put. Return how many were."""
        keys, columns = self._table_keys(), rows.schema
        if lost := [key for key in keys if key not in columns.names]:
            raise InvalidInput(
                f"Sink {self._sink.name}: the rows lack {', '.join(lost)}, of the keys of table {self._sink.table}.",
                remedy=f"The rows have: {', '.join(columns.names)}.",
            )
        encoders = [(name, encoder(name, columns[name].dataType)) for name in columns.names]
        # A request may not have the same key twice.
        ready = prepared(rows.dropDuplicates(list(keys))).persist()
        try:
            count = ready.count()
            read = _Counted(rows_on_driver(ready, count, at_once=_ROWS_AT_ONCE))
            written = self._write_all(_writes(read, encoders, keys, None, deletes=False), self._batch, size=_PER_REQUEST)
            check_all_rows(self._sink.name, read.count, count)
        finally:
            ready.unpersist()
        return written

    def _table_keys(self) -> tuple[str, ...]:
        if self._keys:
            return self._keys
        sink = self._sink
        try:
            with translated_errors(self._dynamodb, f"DynamoDB table {sink.table}"):
                keys = tuple(
                    str(key["AttributeName"])
                    for key in self._dynamodb.describe_table(TableName=sink.table)["Table"]["KeySchema"]
                )
        except NotFound:
            raise NotFound(
                f"Sink {sink.name}: there is no DynamoDB table {sink.table} at {self._dynamodb.meta.endpoint_url}.",
                remedy="Create it with its keys, or correct 'table' and the region.",
            ) from None
        if sink.keys and set(sink.keys) != set(keys):
            raise InvalidInput(
                f"Sink {sink.name}: the keys of DynamoDB table {sink.table} are {', '.join(keys)}, and 'keys' are "
                f"{', '.join(sink.keys)}.",
                remedy="Declare the table's keys.",
            )
        self._keys = keys
        return keys

    @property
    def _dynamodb(self) -> Any:
        if self._client is None:
            self._client = open_client(
                "dynamodb",
                region=self._sink.region,
                session=self._session,
                attempts=_ATTEMPTS,
                connections=self._sink.threads,
            )
        return self._client

    def _write_all(self, writes: Iterator[Write], write: Callable[[list[Write]], int], *, size: int) -> int:
        """Write groups of ``size`` in threads, a few requests ahead of the slowest; return how many rows the table has."""
        written = 0
        with ThreadPoolExecutor(self._sink.threads, thread_name_prefix="dynamodb") as pool:
            running: deque[Future[int]] = deque()
            try:
                while group := list(islice(writes, size)):
                    running.append(pool.submit(write, group))
                    if len(running) >= 4 * self._sink.threads:
                        written += running.popleft().result()
                return written + sum(future.result() for future in running)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _conditional(self, write: Write, conditions: Conditions) -> int:
        client, table = self._dynamodb, self._sink.table
        condition = conditions.arguments(self._sink.mode)
        with self._explained(write):
            try:
                if write.item is None:
                    client.delete_item(TableName=table, Key=write.key, **condition)
                else:
                    client.put_item(TableName=table, Item=write.item, **condition)
            except ClientError as error:
                if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                    raise
                # Of append: the key is there. Of upsert: a later batch has written the item.
                return int(self._sink.mode == "append" and conditions.ours(error))
        return 1

    def _batch(self, group: Sequence[Write]) -> int:
        requests = [
            {"DeleteRequest": {"Key": write.key}} if write.item is None else {"PutRequest": {"Item": write.item}}
            for write in group
        ]
        with self._explained(group[0]):
            write_batch(self._dynamodb, self._sink.table, requests)
        return len(group)

    @contextmanager
    def _explained(self, write: Write) -> Iterator[None]:
        """Translate botocore's errors of a request, whose first row is ``write``."""
        sink = self._sink
        try:
            with translated_errors(self._dynamodb, f"writes to DynamoDB table {sink.table}"):
                yield
        except InvalidInput as error:
            if error_code(error) != "ValidationException":
                raise
            about = "" if sink.conditional else " or one of the next 24"
            raise DataProblem(
                f"Sink {sink.name}: DynamoDB table {sink.table} refuses the row with the key {_shown(write.key)}{about}: "
                f"{error.message.removeprefix('ValidationException: ').rstrip('.')}.",
                remedy="Shorten or leave out such rows in the sink's 'sql'; an item has 400 KB at most, a key is not empty.",
            ) from None


def write_batch(
    client: Any, table: str, requests: Sequence[Mapping[str, Any]], *, sleep: Callable[[float], Any] | None = None
) -> None:
    """Write up to 25 requests of BatchWriteItem; what DynamoDB leaves unprocessed is sent again, with growing pauses.

    Raises :class:`EnvironmentProblem` if some are still unprocessed at the end. ``sleep`` replaces ``time.sleep``.
    """
    remaining = list(requests)

    def send() -> None:
        answer = client.batch_write_item(RequestItems={table: remaining})
        remaining[:] = answer.get("UnprocessedItems", {}).get(table, [])
        if remaining:
            raise EnvironmentProblem(
                f"DynamoDB table {table} left {len(remaining)} of {len(requests)} writes unprocessed.",
                remedy="Give the table more write capacity, or the sink fewer threads.",
            )

    call_with_retries(send, DYNAMODB_WRITE, when=lambda error: isinstance(error, EnvironmentProblem), sleep=sleep)


def _writes(
    rows: Iterable[Sequence[Any]],
    encoders: Sequence[tuple[str, Encoder]],
    keys: Sequence[str],
    marker: Attribute | None,
    *,
    deletes: bool,
) -> Iterator[Write]:
    """Return the writes of rows: values in the encoders' order, and whether to delete where ``deletes``."""
    for row in rows:
        item = {
            name: value for (name, encode), entry in zip(encoders, row, strict=False) if (value := encode(entry)) is not None
        }
        if missing := [key for key in keys if key not in item]:
            raise DataProblem(
                f"A row has no {', '.join(missing)}, which is of the table's key: {_shown(item)}.",
                remedy="Leave such rows out in the sink's 'sql'.",
            )
        key = {name: item[name] for name in keys}
        if marker is not None:
            item[MARKER] = marker
        yield Write(key=key, item=None if deletes and row[len(encoders)] else item)


class _Counted:
    """Rows, and how many of them there were."""

    def __init__(self, rows: Iterator[Sequence[Any]]) -> None:
        self._rows = rows
        self.count = 0

    def __iter__(self) -> Iterator[Sequence[Any]]:
        for row in self._rows:
            self.count += 1
            yield row


def _shown(attributes: Mapping[str, Attribute]) -> str:
    parts = (f"{name}={next(iter(value.values()))}" for name, value in attributes.items() if name != MARKER)
    return ", ".join(parts)[:200]

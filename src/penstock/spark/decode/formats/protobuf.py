"""Protobuf payloads, decoded in Arrow batches by Google's library, because Spark's connector cannot be fetched."""

from collections.abc import Sequence
from functools import lru_cache

import pyspark.cloudpickle
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DoubleType, StructField, StructType

from penstock.errors import DataProblem
from penstock.schema.errors import InvalidSchema, NoColumns
from penstock.schema.formats.protobuf import ProtobufFormat
from penstock.schema.protobuf.columns import columns
from penstock.schema.protobuf.model import ProtoTree, is_required
from penstock.schema.rules import GLUE_RULES
from penstock.schema.version import SchemaVersion
from penstock.spark.decode.formats import protobuf_worker
from penstock.spark.decode.formats.port import GOOD, FormatSettings, Payloads
from penstock.spark.decode.formats.protobuf_worker import MessageTask, WriterRule, message_function
from penstock.spark.types import spark_type

__all__ = ["ProtobufPayloads"]

pyspark.cloudpickle.register_pickle_by_value(protobuf_worker)  # type: ignore[no-untyped-call]


class ProtobufPayloads:
    """PROTOBUF: rows of one message of the definition. A field without presence is its type's zero where it is not set."""

    def __init__(self, settings: FormatSettings) -> None:
        self._settings = settings

    def reader(self, reader: SchemaVersion, writers: Sequence[SchemaVersion]) -> str:
        """Return the reader's definition: payloads of all versions are read by field numbers."""
        self._body(reader.definition)
        for version in writers:
            _tree(version.definition)
        return reader.definition

    def rows(self, payloads: Payloads, writers: Sequence[SchemaVersion], reader: str) -> Column:
        """Return payloads parsed as the reader's message, in the Python workers."""
        tree, name = _tree(reader), self._message(reader)
        data_type = StructType([StructField("body", self._body(reader)), StructField("tail", DoubleType())])
        if not writers:
            return F.lit(None).cast(data_type)
        task = MessageTask(
            files=tuple(file.SerializeToString() for file in tree.files),
            message=name,
            rules={version.number: _rule(version.definition, reader, name) for version in writers},
            result=to_arrow_type(data_type),
            good=GOOD,
            has_required=any(is_required(field) for message in tree.messages.values() for field in message.proto.field),
        )
        decode = arrow_udf(message_function(task), data_type)  # type: ignore[call-overload]
        rows: Column = decode(payloads.payload, payloads.version, payloads.index)
        return rows

    def missing_fields(self, writer: str, reader: str) -> list[str]:
        """Return the fields of the writer's message whose numbers the reader's message does not have."""
        name = self._message(reader)
        ours = {field.number for field in _tree(reader).messages[name].proto.field}
        theirs = _tree(writer).messages.get(name)
        return [] if theirs is None else [field.name for field in theirs.proto.field if field.number not in ours]

    def _message(self, definition: str) -> str:
        tree, name = _tree(definition), self._settings.message
        first = tree.first_message
        if name is None and first is not None:
            return first.full_name
        if name is None or name not in tree.messages:
            raise DataProblem(
                f"The schema has no message{f' {name}' if name else ''}.",
                remedy=f"Set decode.message to one of {', '.join(tree.names_glue()[:20])}.",
            )
        return name

    def _body(self, definition: str) -> StructType:
        tree, name = _tree(definition), self._message(definition)
        try:
            return StructType([StructField(column.name, spark_type(column.type)) for column in columns(tree, name)])
        except NoColumns as error:
            raise DataProblem(f"A schema version cannot be used for decoding. {error}") from error


@lru_cache(maxsize=1000)
def _tree(definition: str) -> ProtoTree:
    try:
        tree: ProtoTree = ProtobufFormat().parse(definition).tree
    except InvalidSchema as error:
        raise DataProblem(f"A schema version cannot be used for decoding. {error}") from error
    return tree


@lru_cache(maxsize=1000)
def _rule(writer: str, reader: str, name: str) -> WriterRule:
    """Return how payloads of ``writer`` begin that are messages ``name``."""
    tree = _tree(writer)
    own = name in tree.names_glue()
    path = tree.message_indexes_confluent(name) if own else ()
    listed = b"".join(_varint(number << 1) for number in (len(path), *path))
    confluent = ((b"\0", listed) if path == (0,) else (listed,)) if own else ()
    aws = (_varint(tree.message_index_glue(name)),) if own else ()
    strict = writer != reader and bool(
        ProtobufFormat().readable(ProtobufFormat().parse(reader), ProtobufFormat().parse(writer), GLUE_RULES)
    )
    return WriterRule(indexes=(aws, confluent, (b"",)), strict=strict)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)

"""What the fuzzers feed: functions from bytes that return, or raise what is a defect.

``run_atheris.py`` gives them to atheris, which follows the coverage; ``test_corpus.py`` gives them each file of the corpus.
"""

import zlib
from collections.abc import Callable
from contextlib import suppress
from uuid import UUID

from penstock.api.body import parse_json
from penstock.errors import NotFound, PenstockError
from penstock.schema.errors import InvalidSchema, NoColumns, TooComplex
from penstock.schema.formats import format_of
from penstock.schema.rules import CONFLUENT_RULES, GLUE_RULES
from penstock.schema.version import SchemaText, SchemaVersion
from penstock.serdes.avro.codec import AvroSchema
from penstock.serdes.codec import MessageReader
from penstock.serdes.errors import SerdeError, UnreadableSchema
from penstock.serdes.ports import SchemaSource

__all__ = ["TARGETS"]

_ID = UUID("b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63")
_SEPARATOR = b"\n---\n"


def _definition(data_format: str) -> Callable[[bytes], None]:
    rules = format_of(data_format)

    def target(data: bytes) -> None:
        first, _, second = data.partition(_SEPARATOR)
        schemas = []
        for part in (first, second) if second else (first,):
            try:
                schemas.append(rules.parse(part.decode(errors="surrogateescape")))
            except InvalidSchema as error:
                _check_words(error)
        for schema in schemas:
            if len(schema.canonical) <= 100_000:
                assert rules.parse(schema.canonical).fingerprint == schema.fingerprint
            rules.fields(schema)
            rules.pretty(schema).encode()
            with suppress(NoColumns):
                rules.columns(schema)
            with suppress(TooComplex):
                assert rules.readable(schema, schema, CONFLUENT_RULES) == []
        if len(schemas) == 2:
            for api in (GLUE_RULES, CONFLUENT_RULES):
                with suppress(TooComplex):
                    for found in rules.readable(schemas[0], schemas[1], api):
                        str(found).encode()

    return target


def _check_words(error: InvalidSchema) -> None:
    assert 0 < len(str(error).encode()) < 5_000


def _avro(data: bytes) -> None:
    """A definition, and that the serdes reads what is accepted."""
    _definition("AVRO")(data)
    text = data.partition(_SEPARATOR)[0].decode(errors="surrogateescape")
    try:
        format_of("AVRO").parse(text)
    except InvalidSchema:
        with suppress(UnreadableSchema):
            AvroSchema(text)
        return
    try:
        AvroSchema(text)
    except UnreadableSchema as error:
        if "contains itself" not in str(error):
            raise AssertionError(text) from error


class _Source(SchemaSource):
    def __init__(self, definition: str, data_format: str) -> None:
        self._definition, self._format = definition, data_format

    def version(self, version_id: UUID) -> SchemaVersion:
        return SchemaVersion(
            id=version_id,
            schema_arn="a",
            registry_name="r",
            schema_name="s",
            number=1,
            definition=self._definition,
            data_format=self._format,
        )

    def latest(self, registry: str, schema: str) -> SchemaVersion:
        raise NotFound(f"{registry}/{schema}")

    def text(self, schema_id: int | UUID) -> SchemaText:
        return SchemaText(definition=self._definition, data_format=self._format)


_SOURCES = [
    ("AVRO", '{"type":"record","name":"N","fields":[{"name":"n","type":["null","N"]},{"name":"d","type":{"type":"bytes",'
     '"logicalType":"decimal","precision":4}},{"name":"m","type":{"type":"map","values":{"type":"array","items":"null"}}}]}'),
    ("AVRO", '["null","string",{"type":"enum","name":"E","symbols":["X"]},{"type":"fixed","name":"F","size":3},'
     '{"type":"long","logicalType":"timestamp-micros"},"double"]'),
    ("JSON", '{"properties":{"a":{"pattern":"(a+)+$"},"b":{"items":{"$ref":"#"}}},'
     '"additionalProperties":{"multipleOf":0.1}}'),
    ("PROTOBUF", 'syntax = "proto3"; message A { A a = 1; map<string, A> m = 2; oneof o { bytes b = 3; E e = 4; } '
     "repeated sint64 s = 5; } enum E { Z = 0; } message B { message C { float f = 1; } }"),
]  # fmt: skip
_READERS: list[MessageReader] = []


def _frame(data: bytes) -> None:
    """The first byte picks a schema, the second whether the rest is squeezed into a frame of AWS's or stands as it is."""
    if not _READERS:
        for data_format, text in _SOURCES:
            source = _Source(text, data_format)
            _READERS.append(MessageReader(source, confluent=source, formats=("AVRO", "JSON", "PROTOBUF")))
    if len(data) < 2:
        return
    reader, payload = _READERS[data[0] % len(_READERS)], data[2:]
    message = {
        0: lambda: payload,
        1: lambda: b"\x03\x00" + _ID.bytes + payload,
        2: lambda: b"\x03\x05" + _ID.bytes + zlib.compress(payload),
        3: lambda: b"\x00\x00\x00\x00\x07" + payload,
        4: lambda: b"\x01" + _ID.bytes + payload,
    }[data[1] % 5]()
    with suppress(SerdeError):
        reader.read(message, None)


def _body(data: bytes) -> None:
    with suppress(PenstockError):
        parse_json(data)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "avro": _avro,
    "json": _definition("JSON"),
    "protobuf": _definition("PROTOBUF"),
    "frame": _frame,
    "body": _body,
}

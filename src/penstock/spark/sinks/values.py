"""Values of records, which Spark writes (PROTOBUF in Python), and their schema: looked up, or derived and registered.

Sinks of topics and streams share this.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pyspark.cloudpickle
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.avro.functions import to_avro
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import BinaryType, StructType

from penstock.client.confluent import ConfluentClient
from penstock.client.registry import RegistryClient
from penstock.errors import DataProblem, InvalidInput, NotFound, PenstockError
from penstock.pipelines.sinks.encoding import Encoding
from penstock.schema.formats.protobuf import ProtobufFormat
from penstock.schema.version import SchemaText
from penstock.serdes.confluent_frame import prefix
from penstock.serdes.frame import header
from penstock.serdes.protobuf.decoder import ProtobufSchema
from penstock.spark.sinks import protobuf_worker
from penstock.spark.sinks.protobuf_worker import message_writer

__all__ = ["JSON", "PROBLEMS", "ValueSchema", "ValueSchemas", "derived_avro", "encoded"]

pyspark.cloudpickle.register_pickle_by_value(protobuf_worker)  # type: ignore[no-untyped-call]

JSON = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
"""Options of ``to_json`` for values and keys."""

PROBLEMS: tuple[tuple[str, type[PenstockError], str, str], ...] = (
    (
        r"AVRO_CANNOT_WRITE_NULL_FIELD",
        DataProblem,
        "gets a null where the schema has none",
        "Fill it in the sink's 'sql' (coalesce), or make the schema's field optional.",
    ),
    (
        r"PROTOBUF_MISFIT",
        DataProblem,
        "gets a value that does not fit its message",
        "Cast or leave out columns in the sink's 'sql': names and types have to be those of the message's fields.",
    ),
    (
        r"IncompatibleSchemaException|Cannot convert SQL",
        InvalidInput,
        "has a schema that does not fit the columns",
        "Cast or leave out columns in the sink's 'sql': names and types have to be those of the schema.",
    ),
)
"""Patterns of Spark's errors in :func:`encoded`, and what each says of the topic or stream, with its remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueSchema:
    """A version's definition and the bytes in front of each value.

    Of PROTOBUF also the full name of the message, and serialized FileDescriptorProtos, each behind what it imports.
    """

    definition: str
    head: bytes
    message: str = ""
    files: tuple[bytes, ...] = ()


class ValueSchemas:
    """The versions of one sink's values. ``registry`` and ``confluent`` make the clients, at their first use."""

    def __init__(
        self,
        encoding: Encoding,
        *,
        registry: Callable[[], RegistryClient] = RegistryClient,
        confluent: Callable[..., ConfluentClient] = ConfluentClient,
    ) -> None:
        self._encoding = encoding
        self._open_registry = registry
        self._open_confluent = confluent
        self._glue: RegistryClient | None = None
        self._subjects: ConfluentClient | None = None
        self._registered: dict[str, ValueSchema] = {}

    def find(self) -> ValueSchema:
        """Return the declared or latest version. Raises the client's errors, :class:`InvalidInput` for another format."""
        return self._of_subject() if self._encoding.frame == "confluent" else self._of_registry()

    def version(self, derive: Callable[[str], str]) -> ValueSchema | None:
        """Return the version of a batch's values: found, or registered if declared; None where values have no schema.

        ``derive`` returns the AVRO definition of the batch's columns for the record's name that it gets
        (:func:`derived_avro`). Raises what it raises, and as :meth:`find` and :meth:`register` do.
        """
        encoding = self._encoding
        if encoding.frame is None:
            return None
        if not encoding.register:
            return self.find()
        name = (encoding.confluent.subject if encoding.confluent is not None else None) or encoding.schema
        return self.register(derive(re.sub(r"[^A-Za-z0-9_.]|^(?=\d)", "_", name)))

    def register(self, definition: str) -> ValueSchema:
        """Return the version with this definition, registered if there is none; looked up once.

        Raises :class:`DataProblem` if the registry refuses it: the columns changed in a way that its mode does not allow.
        """
        if definition not in self._registered:
            try:
                self._registered[definition] = self._register(definition)
            except InvalidInput as error:
                raise DataProblem(
                    f"The columns do not fit {self._encoding.name}: {error.message.rstrip('.')}.",
                    remedy="Keep the columns compatible in the sink's 'sql', or write to a new schema.",
                ) from None
        return self._registered[definition]

    @property
    def _client(self) -> RegistryClient:
        if self._glue is None:
            self._glue = self._open_registry()
        return self._glue

    @property
    def _confluent(self) -> ConfluentClient:
        if self._subjects is None:
            declared = self._encoding.confluent
            assert declared is not None
            self._subjects = self._open_confluent(declared.url, user_info=declared.user_info, context=declared.context)
        return self._subjects

    @property
    def _subject(self) -> str:
        declared = self._encoding.confluent
        assert declared is not None
        name = declared.subject or self._encoding.schema
        return f":.{declared.context}:{name}" if declared.context else name

    def _of_registry(self) -> ValueSchema:
        encoding = self._encoding
        if encoding.version is None:
            version = self._client.latest(encoding.registry, encoding.schema)
        else:
            numbered = dict(self._client.numbers(encoding.registry, encoding.schema))
            if encoding.version not in numbered:
                raise NotFound(f"{encoding.name[0].upper()}{encoding.name[1:]} has no AVAILABLE version {encoding.version}.")
            version = self._client.version(numbered[encoding.version])
        self._check(version.data_format)
        return self._value_schema(version.definition, header(version.id))

    def _of_subject(self) -> ValueSchema:
        number: Any = self._encoding.version or "latest"
        answer = self._confluent.request("GET", f"/subjects/{quote(self._subject, safe='')}/versions/{number}")
        self._check(answer.get("schemaType") or "AVRO")
        if answer.get("references"):
            raise InvalidInput(
                f"Subject {self._subject} refers to other subjects, which sinks do not follow.",
                remedy="Register a definition without references.",
            )
        return self._value_schema(str(answer["schema"]), prefix(int(answer["id"])))

    def _value_schema(self, definition: str, head: bytes) -> ValueSchema:
        if self._encoding.format != "protobuf":
            return ValueSchema(definition=definition, head=head)
        schema = ProtobufSchema(SchemaText(definition=definition, data_format="PROTOBUF"))
        message = self._encoding.message or schema.first_name()
        index = schema.confluent_index if self._encoding.frame == "confluent" else schema.index
        files = tuple(file.SerializeToString() for file in ProtobufFormat().parse(definition).tree.files)
        return ValueSchema(definition=definition, head=head + index(message), message=message, files=files)

    def _check(self, data_format: str) -> None:
        if data_format.lower() != self._encoding.format:
            raise InvalidInput(
                f"The values' {self._encoding.name} is {data_format}, and value.format is {self._encoding.format}.",
                remedy=f"Set value.format to {data_format.lower()}, if the sink writes it, or name another schema.",
            )

    def _register(self, definition: str) -> ValueSchema:
        encoding = self._encoding
        if encoding.frame == "confluent":
            schema_id, _ = self._confluent.register(self._subject, definition)
            return ValueSchema(definition=definition, head=prefix(schema_id))
        try:
            version_id, status = self._client.register_version(encoding.registry, encoding.schema, definition)
        except NotFound:
            version_id, status = self._client.create_schema(encoding.registry, encoding.schema, definition)
        return ValueSchema(definition=definition, head=header(self._available(version_id, status)))

    def _available(self, version_id: UUID, status: str) -> UUID:
        if status != "AVAILABLE":
            status = self._client.version_status(version_id)
        if status != "AVAILABLE":
            raise InvalidInput(f"the version is {status}: its mode does not allow the change")
        return version_id


def encoded(body: Column, encoding: Encoding, schema: ValueSchema | None, *, deleted: Column | None = None) -> Column:
    """Return the values (binary) of rows, ``body`` being a struct of their columns; with the frame of ``schema``.

    Null where ``deleted`` is true.
    """
    if encoding.format == "avro" and schema is not None:
        return _unless(deleted, F.concat(F.lit(bytearray(schema.head)), to_avro(body, schema.definition)))
    if encoding.format == "protobuf" and schema is not None:
        # A field that is null is not set. Spark calls a function in Python for all rows, so the null comes first.
        text = _unless(deleted, F.to_json(body, {**JSON, "ignoreNullFields": "true"}))
        write = arrow_udf(message_writer(schema.files, schema.message, schema.head), BinaryType())  # type: ignore[call-overload]
        value: Column = write(text)
        return value
    text = F.to_json(body, JSON).cast("binary")
    return _unless(deleted, text if schema is None else F.concat(F.lit(bytearray(schema.head)), text))


def _unless(deleted: Column | None, value: Column) -> Column:
    return value if deleted is None else F.when(~deleted, value)


def derived_avro(spark: SparkSession, columns: StructType, name: str) -> str:
    """Return the Avro definition of a record with ``columns``, as Spark writes them.

    Fields that may be null have the default null, so that columns can come and go under the compatibility modes.
    """
    jvm: Any = spark._jvm
    data_type = jvm.org.apache.spark.sql.types.DataType.fromJson(columns.json())
    record, _, namespace = name.rpartition(".")[::-1]
    text = jvm.org.apache.spark.sql.avro.SchemaConverters.toAvroType(data_type, False, record, namespace).toString()
    return json.dumps(_with_defaults(json.loads(text)))


def _with_defaults(schema: Any) -> Any:
    if isinstance(schema, list):
        return sorted((_with_defaults(item) for item in schema), key=lambda item: item != "null")
    if not isinstance(schema, dict):
        return schema
    completed = {
        key: _with_defaults(value) if key in {"type", "items", "values"} else value for key, value in schema.items()
    }
    if "fields" in completed:
        completed["fields"] = [_with_default(field) for field in schema["fields"]]
    return completed


def _with_default(field: dict[str, Any]) -> dict[str, Any]:
    avro_type = _with_defaults(field["type"])
    optional = isinstance(avro_type, list) and "null" in avro_type
    return {**field, "type": avro_type, **({"default": None} if optional else {})}

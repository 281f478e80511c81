"""Serialisers and deserialisers for Kafka and Kinesis in AVRO, JSON and PROTOBUF, byte-compatible with AWS's Java serde."""

from .avro.derived import DerivedSchemas as DerivedSchemas
from .checking import DataChecks as DataChecks
from .codec import MessageReader as MessageReader
from .codec import MessageWriter as MessageWriter
from .codec import message_writer as message_writer
from .config import SerdeConfig as SerdeConfig
from .errors import (
    CorruptCompression as CorruptCompression,
)
from .errors import (
    DamagedAggregate as DamagedAggregate,
)
from .errors import (
    IncompatibleValue as IncompatibleValue,
)
from .errors import (
    MalformedPayload as MalformedPayload,
)
from .errors import (
    MissingField as MissingField,
)
from .errors import (
    NotFramed as NotFramed,
)
from .errors import (
    PayloadTooLarge as PayloadTooLarge,
)
from .errors import (
    SerdeError as SerdeError,
)
from .errors import (
    TrailingBytes as TrailingBytes,
)
from .errors import (
    TruncatedFrame as TruncatedFrame,
)
from .errors import (
    TruncatedPayload as TruncatedPayload,
)
from .errors import (
    UnknownField as UnknownField,
)
from .errors import (
    UnknownWriterSchema as UnknownWriterSchema,
)
from .errors import (
    UnreadableSchema as UnreadableSchema,
)
from .frame import Compression as Compression
from .frame import Frame as Frame
from .kafka.aio import AsyncGlueDeserializer as AsyncGlueDeserializer
from .kafka.aio import AsyncGlueSerializer as AsyncGlueSerializer
from .kafka.confluent import (
    ConfluentAvroSerializer as ConfluentAvroSerializer,
)
from .kafka.confluent import (
    ConfluentJsonSerializer as ConfluentJsonSerializer,
)
from .kafka.confluent import (
    ConfluentProtobufSerializer as ConfluentProtobufSerializer,
)
from .kafka.confluent import (
    IdPlace as IdPlace,
)
from .kafka.serdes import (
    GlueAvroDeserializer as GlueAvroDeserializer,
)
from .kafka.serdes import (
    GlueAvroSerializer as GlueAvroSerializer,
)
from .kafka.serdes import (
    GlueDeserializer as GlueDeserializer,
)
from .kafka.serdes import (
    GlueSerializer as GlueSerializer,
)
from .kinesis.aggregate import (
    Aggregator as Aggregator,
)
from .kinesis.aggregate import (
    UserRecord as UserRecord,
)
from .kinesis.aggregate import (
    read_aggregate as read_aggregate,
)
from .kinesis.aggregate import (
    write_aggregate as write_aggregate,
)
from .kinesis.serdes import (
    KinesisDeserializer as KinesisDeserializer,
)
from .kinesis.serdes import (
    KinesisSerializer as KinesisSerializer,
)
from .kinesis.serdes import (
    aggregated as aggregated,
)
from .kinesis.serdes import (
    open_shards as open_shards,
)
from .kinesis.serdes import (
    put_all as put_all,
)
from .ports import (
    ConfluentRegistrar as ConfluentRegistrar,
)
from .ports import (
    ConfluentSource as ConfluentSource,
)
from .ports import (
    Registrar as Registrar,
)
from .ports import (
    SchemaDeriver as SchemaDeriver,
)
from .ports import (
    SchemaSource as SchemaSource,
)

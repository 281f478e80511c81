"""Settings of serialisers and deserialisers, under the property names of AWS's Java serde.

Names: https://github.com/awslabs/aws-glue-schema-registry#readme, ``AWSSchemaRegistryConstants`` of its jar 1.1.27.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from penstock.errors import InvalidInput
from penstock.schema.format import DATA_FORMATS
from penstock.serdes.avro.limits import Limits
from penstock.serdes.frame import Compression

if TYPE_CHECKING:
    from types_boto3_glue.literals import CompatibilityType, DataFormatType

__all__ = ["NameOfSchema", "SerdeConfig"]

_COMPATIBILITIES = ("NONE", "DISABLED", "BACKWARD", "BACKWARD_ALL", "FORWARD", "FORWARD_ALL", "FULL", "FULL_ALL")
_AVRO_RECORDS = ("GENERIC_RECORD", "SPECIFIC_RECORD", "UNKNOWN")
_MESSAGES = ("DYNAMIC_MESSAGE", "POJO", "UNKNOWN")
# The default naming strategy of AWS's serde: the constant and the class's full name.
_NAMED_BY_TOPIC = (
    "AWSSchemaNamingStrategyDefaultImpl",
    "com.amazonaws.services.schemaregistry.common.AWSSchemaNamingStrategyDefaultImpl",
)

NameOfSchema = Callable[[str, bool], str]
"""A function from a topic (or stream) and whether it is the key to the schema's name: ``lambda topic, is_key: ...``."""


def name_by_topic(topic: str, is_key: bool) -> str:
    """Return the topic's name, as AWS's serde does. Keys get the suffix ``-key``; in AWS they collide."""
    return f"{topic}-key" if is_key else topic


@dataclass(frozen=True, slots=True, kw_only=True)
class SerdeConfig:
    """Settings of a serialiser or deserialiser. ``ttl_seconds`` is how long a "latest" version stays cached."""

    region: str | None = None
    endpoint_url: str | None = None
    registry: str = "default-registry"
    schema: str | None = None
    """The schema's name, for keys and values alike. If it is not set, ``schema_name_of`` gives the name."""
    key_schema: str | None = None
    """The name of the keys' schema. It overrides ``schema``, as does ``value_schema`` for values."""
    value_schema: str | None = None
    schema_name_of: NameOfSchema = name_by_topic
    auto_register: bool = False
    data_format: "DataFormatType" = "AVRO"
    compatibility: "CompatibilityType" = "BACKWARD"
    compression: Compression = Compression.NONE
    cache_size: int = 200
    ttl_seconds: float = 86_400.0
    message_type: str | None = None
    """Protobuf: DYNAMIC_MESSAGE returns messages, POJO messages of a given class; if not set, dictionaries."""
    secondary: Any = None
    """Reads messages without a frame: a callable of bytes and context, or the Java name of a deserialiser."""
    assume_role_arn: str | None = None
    assume_role_session: str = "penstock"
    proxy_url: str | None = None
    description: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    confluent_url: str | None = None
    """The registry that a deserialiser asks for the ids in Confluent's frames. Without it, such frames are refused."""
    confluent_user_info: str | None = field(default=None, repr=False)
    ignore_unknown_fields: bool = False
    limits: Limits = field(default_factory=Limits)

    @classmethod
    def from_properties(cls, properties: Mapping[str, Any]) -> "SerdeConfig":
        """Read AWS's property names (``registry.name``, ``schemaAutoRegistrationEnabled``, ...), values as texts or typed.

        ``userAgentApp`` and the features of Jackson have no meaning here and are ignored. ``avroRecordType`` is checked and
        has no effect: records are dictionaries. Raise :class:`InvalidInput` for a wrong value or an unknown name.
        """
        settings: dict[str, Any] = {}
        for name, value in properties.items():
            if name in _IGNORED or value is None:
                continue
            if name not in _PROPERTIES:
                raise InvalidInput(
                    f"Unknown serde property '{name}'.", remedy=f"Use one of {', '.join(sorted({*_PROPERTIES, *_IGNORED}))}."
                )
            target, convert = _PROPERTIES[name]
            try:
                settings[target] = convert(value)
            except (ValueError, TypeError, AttributeError) as error:
                raise InvalidInput(f"Serde property '{name}' cannot be {value!r}: {error}.") from None
        settings.pop("", None)  # checked already
        return cls(**settings)

    def with_settings(self, settings: Mapping[str, Any]) -> "SerdeConfig":
        """Return a copy with some fields set. Raise :class:`InvalidInput` for an unknown field."""
        try:
            return replace(self, **settings)
        except TypeError as error:
            raise InvalidInput(f"Unknown serde setting: {error}.") from None

    def schema_name(self, topic: str, *, key: bool) -> str:
        """Return the schema's name for a topic's values, or keys. Raise :class:`InvalidInput` without a name and a topic."""
        name = (self.key_schema if key else self.value_schema) or self.schema
        if name:
            return name
        if not topic:
            raise InvalidInput("No schema name: set schemaName, or call the serialiser with a context that has a topic.")
        return self.schema_name_of(topic, key)


def _flag(value: Any) -> bool:
    text = str(value).strip().lower()
    if text not in {"true", "false"}:
        raise ValueError("it must be true or false")
    return text == "true"


def _one_of(*names: str) -> Callable[[Any], str]:
    def convert(value: Any) -> str:
        # A member of an enum counts as its value.
        text = str(getattr(value, "value", value)).strip().upper()
        if text not in names:
            raise ValueError(f"it must be one of {', '.join(sorted(names))}")
        return text

    return convert


def _compression(value: Any) -> Compression:
    if isinstance(value, Compression):
        return value
    text = str(value).strip().upper()
    if text not in Compression.__members__:
        raise ValueError("it must be NONE or ZLIB")
    return Compression[text]


def _count(value: Any) -> int:
    text = str(value).strip()
    if not text.isdecimal() or int(text) < 1:
        raise ValueError("it must be a whole number, 1 or more")
    return int(text)


def _naming(value: Any) -> NameOfSchema:
    if callable(value):
        return cast("NameOfSchema", value)
    if value in _NAMED_BY_TOPIC:
        return name_by_topic
    raise ValueError("Java classes do not run here; give a function of the topic's name and whether it is a key")


def _pairs(value: Any) -> Mapping[str, str]:
    if not isinstance(value, Mapping):
        raise ValueError("it must be a mapping of names to strings")
    return {str(key): str(text) for key, text in value.items()}


_PROPERTIES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "region": ("region", str),
    "endpoint": ("endpoint_url", str),
    "registry.name": ("registry", str),
    "schemaName": ("schema", str),
    "key.schemaName": ("key_schema", str),
    "value.schemaName": ("value_schema", str),
    "schemaNameGenerationClass": ("schema_name_of", _naming),
    "schemaAutoRegistrationEnabled": ("auto_register", _flag),
    "dataFormat": ("data_format", _one_of(*DATA_FORMATS)),
    "compatibility": ("compatibility", _one_of(*_COMPATIBILITIES)),
    "compression": ("compression", _compression),
    "compressionType": ("compression", _compression),
    "avroRecordType": ("", _one_of(*_AVRO_RECORDS)),
    "protobufMessageType": ("message_type", _one_of(*_MESSAGES)),
    "secondaryDeserializer": ("secondary", lambda value: value),
    "assumeRoleArn": ("assume_role_arn", str),
    "assumeRoleSessionName": ("assume_role_session", str),
    "proxyUrl": ("proxy_url", str),
    "cacheSize": ("cache_size", _count),
    "timeToLiveMillis": ("ttl_seconds", lambda value: _count(value) / 1000),
    "description": ("description", str),
    "tags": ("tags", _pairs),
    "metadata": ("metadata", _pairs),
    # Confluent's own names.
    "schema.registry.url": ("confluent_url", str),
    "basic.auth.user.info": ("confluent_user_info", str),
}
_IGNORED = frozenset({"userAgentApp", "jacksonSerializationFeatures", "jacksonDeserializationFeatures"})

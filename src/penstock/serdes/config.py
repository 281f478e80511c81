"""Settings of the (de)serialisers, under the names that users of AWS's Java serde have in their configurations.

Names: https://github.com/awslabs/aws-glue-schema-registry#readme, ``AWSSchemaRegistryConstants``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from penstock.errors import InvalidInput
from penstock.serdes.frame import Compression
from penstock.serdes.shape import Limits

if TYPE_CHECKING:
    from types_boto3_glue.literals import CompatibilityType, DataFormatType

__all__ = ["SerdeConfig"]

_COMPATIBILITIES = frozenset({"NONE", "DISABLED", "BACKWARD", "BACKWARD_ALL", "FORWARD", "FORWARD_ALL", "FULL", "FULL_ALL"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SerdeConfig:
    """What a serialiser or deserialiser is set to. Sizes in bytes, ``ttl_seconds`` bounds a cached "latest" version."""

    region: str | None = None
    endpoint_url: str | None = None
    registry: str = "default-registry"
    schema: str | None = None
    """The schema's name; the topic's name where not set."""
    auto_register: bool = False
    data_format: "DataFormatType" = "AVRO"
    compatibility: "CompatibilityType" = "BACKWARD"
    compression: Compression = Compression.NONE
    cache_size: int = 200
    ttl_seconds: float = 86_400.0
    description: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    confluent_url: str | None = None
    """Where a deserialiser looks up the ids in Confluent's frames; without it such frames are refused."""
    confluent_user_info: str | None = field(default=None, repr=False)
    ignore_unknown_fields: bool = False
    limits: Limits = field(default_factory=Limits)

    @classmethod
    def from_properties(cls, properties: Mapping[str, Any]) -> "SerdeConfig":
        """Read AWS's property names (``registry.name``, ``schemaAutoRegistrationEnabled``, ...), values as texts or typed.

        ``avroRecordType``, ``userAgentApp`` and ``jacksonSerializationFeatures`` mean nothing here and are passed over.
        Raises :class:`InvalidInput` for a value that is wrong and a name that is unknown.
        """
        found: dict[str, Any] = {}
        for name, value in properties.items():
            if name in _IGNORED or value is None:
                continue
            if name not in _PROPERTIES:
                raise InvalidInput(
                    f"Unknown serde property '{name}'.", remedy=f"Known are {', '.join(sorted({*_PROPERTIES, *_IGNORED}))}."
                )
            target, convert = _PROPERTIES[name]
            try:
                found[target] = convert(value)
            except (ValueError, TypeError, AttributeError) as error:
                raise InvalidInput(f"Serde property '{name}' cannot be {value!r}: {error}.") from None
        return cls(**found)


def _flag(value: Any) -> bool:
    text = str(value).strip().lower()
    if text not in {"true", "false"}:
        raise ValueError("it has to be true or false")
    return text == "true"


def _compatibility(value: Any) -> "CompatibilityType":
    text = str(value).strip().upper()
    if text not in _COMPATIBILITIES:
        raise ValueError(f"it has to be one of {', '.join(sorted(_COMPATIBILITIES))}")
    return cast("CompatibilityType", text)


def _compression(value: Any) -> Compression:
    if isinstance(value, Compression):
        return value
    text = str(value).strip().upper()
    if text not in Compression.__members__:
        raise ValueError("it has to be NONE or ZLIB")
    return Compression[text]


def _count(value: Any) -> int:
    number = int(value)
    if number < 1:
        raise ValueError("it has to be 1 or more")
    return number


def _data_format(value: Any) -> "DataFormatType":
    if str(value).strip().upper() != "AVRO":
        raise ValueError("this serialiser writes AVRO")
    return "AVRO"


def _pairs(value: Any) -> Mapping[str, str]:
    return {str(key): str(text) for key, text in value.items()}


_PROPERTIES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "region": ("region", str),
    "endpoint": ("endpoint_url", str),
    "registry.name": ("registry", str),
    "schemaName": ("schema", str),
    "schemaAutoRegistrationEnabled": ("auto_register", _flag),
    "dataFormat": ("data_format", _data_format),
    "compatibility": ("compatibility", _compatibility),
    "compression": ("compression", _compression),
    "cacheSize": ("cache_size", _count),
    "timeToLiveMillis": ("ttl_seconds", lambda value: _count(value) / 1000),
    "description": ("description", str),
    "tags": ("tags", _pairs),
    "metadata": ("metadata", _pairs),
    # Confluent's own names.
    "schema.registry.url": ("confluent_url", str),
    "basic.auth.user.info": ("confluent_user_info", str),
}
_IGNORED = frozenset({"avroRecordType", "userAgentApp", "jacksonSerializationFeatures", "jacksonDeserializationFeatures"})

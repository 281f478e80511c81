"""Where the published rules of a format differ between Glue and Confluent, as values that the called face chooses.

A format's checker reads the flags of its own format and knows no face. A rule on which both agree has no flag.
"""

from dataclasses import dataclass, field

__all__ = ["CONFLUENT_RULES", "GLUE_RULES", "AvroRules", "CompatibilityRules", "JsonRules", "ProtobufRules"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AvroRules:
    """``top_level_names``: the outermost records have to have the same name (AWS accepts a changed one)."""

    top_level_names: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonRules:
    """Rules of JSON Schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtobufRules:
    """Rules of Protobuf. ``services``: a method that a reader does not have is an incompatibility."""

    services: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CompatibilityRules:
    """One face's choice for every format."""

    avro: AvroRules = field(default_factory=AvroRules)
    json: JsonRules = field(default_factory=JsonRules)
    protobuf: ProtobufRules = field(default_factory=ProtobufRules)


GLUE_RULES = CompatibilityRules()
"""AWS Glue Schema Registry's documented behaviour."""

CONFLUENT_RULES = CompatibilityRules(avro=AvroRules(top_level_names=True), protobuf=ProtobufRules(services=False))
"""Confluent Schema Registry's published behaviour."""

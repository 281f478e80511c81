"""The differences between Glue's and Confluent's published compatibility rules, as flags that the called API sets.

A format's checker reads the flags of its own format and does not know the API. A rule that both share has no flag.
"""

from dataclasses import dataclass, field

__all__ = ["CONFLUENT_RULES", "GLUE_RULES", "AvroRules", "CompatibilityRules", "JsonRules", "ProtobufRules"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AvroRules:
    """Rules of Avro. ``top_level_names``: the outermost records must have the same name (AWS accepts a changed one)."""

    top_level_names: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonRules:
    """Rules of JSON Schema. Without flags a reader is compatible if it accepts every document that the writer accepts.

    ``defaults_fill_required``: a property may become required if its schema has a default. ``exclusive_branches``: an
    alternative of a oneOf must be proven to exclude the others, since a value that two accept is refused; without the flag,
    only if the writer combines schemas in another way. ``listed_required_only``: a reader that lists properties may require
    names that are not among them. ``keywords_imply_type``: if the keywords of a writer without ``type`` are about one type,
    the reader's ``type`` must accept only that one. Alternatives imply no type, and all other keywords of the reader apply
    to every value. ``lenient_content_models``: properties may be added to open objects, and additional properties may be
    limited (Confluent's compatibility policy LENIENT). ``keywords_alone``: schemas of dependencies, and ``additionalItems``
    without a list of items, are compared with the writer's by themselves, even where no value can show a difference.
    """

    defaults_fill_required: bool = False
    exclusive_branches: bool = True
    listed_required_only: bool = False
    keywords_imply_type: bool = False
    lenient_content_models: bool = False
    keywords_alone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtobufRules:
    """Rules of Protobuf: each flag makes a difference an incompatibility.

    ``services``: a method that the reader lacks. ``reserved``: a number or name that the writer reserves and the reader
    uses. ``required_made``: a field that is optional in the writer and required in the reader. ``required_removed``: a
    required field that the reader lacks. ``written_labels``: labels of numeric fields are compared as the text has them, so
    that proto3's plain fields, which have none, may become repeated, and optional numbers may not become required.
    """

    services: bool = True
    reserved: bool = True
    required_made: bool = True
    required_removed: bool = False
    written_labels: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CompatibilityRules:
    """The rules of one API for every format."""

    avro: AvroRules = field(default_factory=AvroRules)
    json: JsonRules = field(default_factory=JsonRules)
    protobuf: ProtobufRules = field(default_factory=ProtobufRules)


GLUE_RULES = CompatibilityRules()
"""AWS Glue Schema Registry's documented behaviour."""

CONFLUENT_RULES = CompatibilityRules(
    avro=AvroRules(top_level_names=True),
    json=JsonRules(
        defaults_fill_required=True,
        exclusive_branches=False,
        listed_required_only=True,
        keywords_imply_type=True,
        keywords_alone=True,
    ),
    protobuf=ProtobufRules(services=False, reserved=False, required_made=False, required_removed=True, written_labels=True),
)
"""Confluent Schema Registry's published behaviour."""

"""Where the published rules of a format differ between Glue and Confluent, as values that the called API chooses.

A format's checker reads the flags of its own format and does not know the API. A rule on which both agree has no flag.
"""

from dataclasses import dataclass, field

__all__ = ["CONFLUENT_RULES", "GLUE_RULES", "AvroRules", "CompatibilityRules", "JsonRules", "ProtobufRules"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AvroRules:
    """``top_level_names``: the outermost records have to have the same name (AWS accepts a changed one)."""

    top_level_names: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonRules:
    """Rules of JSON Schema. Without flags a schema is compatible where every document that the other accepts is accepted.

    ``defaults_fill_required``: a property may become required where its schema has a default. ``exclusive_branches``: an
    alternative of a oneOf has to be shown to exclude the others, since a value that two accept is refused; without the flag
    only where the writer combines schemas otherwise.
    ``listed_required_only``: a reader that lists properties may require names that are not among them.
    ``keywords_imply_type``: where the keywords of a writer without ``type`` are about one type, the reader's ``type`` has
    to accept that one alone. Alternatives imply none, and all else of the reader is held against every value.
    ``lenient_content_models``: properties may be added to open objects and further ones limited (Confluent's
    compatibility policy LENIENT).
    """

    defaults_fill_required: bool = False
    exclusive_branches: bool = True
    listed_required_only: bool = False
    keywords_imply_type: bool = False
    lenient_content_models: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtobufRules:
    """What counts as an incompatibility of Protobuf definitions.

    ``services``: a method that the reader does not have. ``reserved``: a number or name that the writer reserves and the
    reader uses. ``required_made``: a field that is optional in the writer and required in the reader. ``required_removed``:
    a required field that the reader does not have. ``written_labels``: labels of numbers compare as the text has them, so
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
        defaults_fill_required=True, exclusive_branches=False, listed_required_only=True, keywords_imply_type=True
    ),
    protobuf=ProtobufRules(services=False, reserved=False, required_made=False, required_removed=True, written_labels=True),
)
"""Confluent Schema Registry's published behaviour."""

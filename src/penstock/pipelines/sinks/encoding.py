"""How the values of records are written: what sinks of topics and streams share."""

from dataclasses import dataclass
from typing import Literal

from penstock.errors import InvalidInput
from penstock.pipelines.decode import ConfluentRegistry, confluent_registry
from penstock.pipelines.sections import default
from penstock.settings.document import Section

__all__ = ["Encoding", "encoding"]

Frame = Literal["glue", "confluent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """How values are written. Without a schema they are plain JSON, without a frame.

    ``registry`` and ``schema`` name a schema of Glue's registry, ``confluent`` a subject of a registry with Confluent's
    API, whose frame the values get. ``version`` None: the latest one. ``register``: the schema is derived from the rows'
    columns (AVRO), and a version of it is registered where there is none. ``message`` is the full name of the Protobuf
    message, None for the definition's first.
    """

    format: Literal["json", "avro", "protobuf"] = "json"
    registry: str = ""
    schema: str = ""
    version: int | None = None
    register: bool = False
    message: str | None = None
    confluent: ConfluentRegistry | None = None

    def check(self, sink: str) -> None:
        """Raise :class:`InvalidInput` for settings of ``sink`` that exclude each other."""
        if self.format != "json" and self.frame is None:
            raise InvalidInput(
                f"Sink {sink}: values in {self.format.upper()} need a registered schema.",
                remedy="Give value.registry and value.schema, or value.confluent.",
            )
        if self.confluent is not None and not (self.confluent.url and (self.confluent.subject or self.schema)):
            raise InvalidInput(f"Sink {sink}: value.confluent needs 'url' and 'subject'.")
        if self.register and (self.format != "avro" or self.version is not None):
            raise InvalidInput(
                f"Sink {sink}: 'register' is for AVRO, and excludes 'version'.",
                remedy="Register the schema with 'penstock schema', or remove 'register'.",
            )

    @property
    def frame(self) -> Frame | None:
        """Return whose frame values get; None without a schema."""
        if self.confluent is not None:
            return "confluent"
        return "glue" if self.schema else None

    @property
    def name(self) -> str:
        """Return the schema or subject, for messages."""
        subject = self.confluent.subject if self.confluent is not None else None
        return f"subject {subject or self.schema}" if self.confluent is not None else f"schema {self.registry}/{self.schema}"


def encoding(section: Section | None) -> Encoding:
    """Return what a sink's section ``value`` declares; plain JSON without one."""
    if section is None:
        return Encoding()
    registry, schema = section.text("registry", "registryName"), section.text("schema", "schemaName")
    if bool(registry) != bool(schema):
        raise section.fault("'registry' and 'schema' go together")
    confluent = section.section("confluent")
    version = section.text("version") or "latest"
    settings = Encoding(
        format=section.choice(("json", "avro", "protobuf"), "format") or ("avro" if schema or confluent else "json"),
        registry=registry or "",
        schema=schema or "",
        version=None if version == "latest" else section.integer("version", minimum=1, maximum=100_000),
        message=section.text("message"),
        register=default(section.boolean("register"), False),
        confluent=None if confluent is None else confluent_registry(confluent),
    )
    section.done()
    return settings

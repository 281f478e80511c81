"""Checks a new definition against a registered schema without registering it, at AWS and at Penstock.

It reads the versions by Glue's API and compares them here, because AWS has no operation that only checks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.client.registry import RegisteredSchema, RegistryClient
from penstock.errors import InvalidInput, NotFound
from penstock.schema.compatibility import CompatibilityMode, CompatibilityVerdict, check, relevant
from penstock.schema.errors import InvalidSchema
from penstock.schema.format import ParsedSchema, ReferencedText, SchemaFormat
from penstock.schema.formats import format_of
from penstock.schema.rules import GLUE_RULES, CompatibilityRules
from penstock.schema.version import SchemaVersion

__all__ = ["CheckedDefinition", "check_definition"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedDefinition:
    """What a registration of a definition would answer.

    ``same_as`` is the number of the version that has this definition already. ``schema`` is None if no schema of the name
    is registered; ``verdict`` then compared with no version. ``refusal`` is a reason in addition to the verdict's.
    """

    registry: str
    name: str
    parsed: ParsedSchema
    verdict: CompatibilityVerdict
    schema: RegisteredSchema | None
    same_as: int | None = None
    refusal: str | None = None

    @property
    def accepted(self) -> bool:
        """Whether the definition would become, or is, an AVAILABLE version."""
        return self.verdict.compatible and self.refusal is None


def check_definition(
    client: RegistryClient,
    registry: str,
    name: str,
    text: str,
    *,
    data_format: str | None = None,
    mode: CompatibilityMode | None = None,
    rules: CompatibilityRules = GLUE_RULES,
    references: Sequence[ReferencedText] = (),
) -> CheckedDefinition:
    """Check ``text`` against the versions of schema ``name``, under ``mode`` or the schema's own.

    ``data_format`` must be the schema's. If the schema is not registered yet, it is the format of ``text``, and only
    validity is checked. Raises :class:`~penstock.schema.errors.InvalidSchema` for an invalid definition,
    :class:`NotFound` for a schema that is not registered if no format is given, and the registry's errors.
    """
    try:
        schema = client.schema(registry, name)
    except NotFound as error:
        if data_format is None:
            raise NotFound(
                error.message, remedy="If the schema is not registered yet, give its format: --data-format."
            ) from error
        parsed = format_of(data_format).parse(text, references)
        verdict = CompatibilityVerdict(mode=mode or CompatibilityMode.NONE)
        return CheckedDefinition(registry=registry, name=name, parsed=parsed, verdict=verdict, schema=None)
    if data_format not in (None, schema.data_format):
        raise InvalidInput(f"Schema {registry}/{name} is {schema.data_format}, not {data_format}.")
    reader = format_of(schema.data_format)
    parsed = reader.parse(text, references)
    mode = mode or CompatibilityMode(schema.compatibility)
    same = _same_version(client, registry, name, text)
    if same is not None:
        verdict = CompatibilityVerdict(mode=mode)
        return CheckedDefinition(registry=registry, name=name, parsed=parsed, verdict=verdict, schema=schema, same_as=same)
    listed = [(number, version_id) for number, version_id in client.numbers(registry, name) if number >= schema.checkpoint]
    picked = set(relevant(mode, [number for number, _ in listed]))
    earlier = [
        (number, _parse(reader, client.version(version_id), references)) for number, version_id in listed if number in picked
    ]
    refusal = None
    if mode is CompatibilityMode.DISABLED and listed:
        refusal = "The schema's mode is DISABLED, which allows no new version."
    verdict = check(reader, mode, parsed, earlier, rules)
    return CheckedDefinition(registry=registry, name=name, parsed=parsed, verdict=verdict, schema=schema, refusal=refusal)


def _same_version(client: RegistryClient, registry: str, name: str, text: str) -> int | None:
    """Return the number of the AVAILABLE version that has this definition, as the registry compares them."""
    try:
        version_id, status = client.find_version(registry, name, text)
    except (NotFound, InvalidInput):
        return None
    return client.version(version_id).number if status == "AVAILABLE" else None


def _parse(reader: SchemaFormat, version: SchemaVersion, references: Sequence[ReferencedText]) -> ParsedSchema:
    try:
        return reader.parse(version.definition)
    except InvalidSchema as alone:
        try:
            return reader.parse(version.definition, references)
        except InvalidSchema:
            raise InvalidSchema(
                f"Version {version.number} of schema {version.registry_name}/{version.schema_name} cannot be read: {alone}",
                remedy="If it refers to other definitions, give them: --reference NAME=FILE.",
            ) from alone

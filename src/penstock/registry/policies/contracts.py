"""The requirements of a subject's configuration for schemas that Confluent's callers register, beside compatibility.

Source: AbstractSchemaRegistry (maybeSetMetadataRuleSet, isCompatibleWithPrevious, validateReservedFields) and
Metadata.mergeMetadata of Confluent's registry.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.registry.identity import canonical_contract
from penstock.registry.model import Version
from penstock.schema.compatibility import Conflict
from penstock.schema.format import ParsedSchema
from penstock.schema.formats import format_of
from penstock.schema.formats.protobuf import ProtobufFormat
from penstock.schema.incompatibility import Incompatibility

__all__ = ["NO_CONTRACT_RULES", "ContractRules"]

_RESERVED = "confluent:reserved"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractRules:
    """``default_metadata`` and ``override_metadata`` (canonical contracts) lie under and over that of each new version.

    ``group`` is a property: versions with another value of it are not compared with each other. ``reserves``: the fields
    that the property ``confluent:reserved`` lists, joined by commas, are used by no schema, and stay listed.
    """

    default_metadata: str | None = None
    override_metadata: str | None = None
    group: str | None = None
    reserves: bool = False

    @property
    def set_metadata(self) -> bool:
        """Whether versions get other metadata than they come with."""
        return self.default_metadata is not None or self.override_metadata is not None

    def contract(self, own: str | None) -> str | None:
        """The metadata of a version that comes with ``own``."""
        return _merged(_merged(self.default_metadata, own), self.override_metadata)

    def alike(self, contract: str | None, other: str | None) -> bool:
        """Whether versions with these contracts are compared with each other."""
        return self.group is None or _property(contract, self.group) == _property(other, self.group)

    def conflicts(self, new: ParsedSchema, contract: str | None, latest: Version | None) -> tuple[Conflict, ...]:
        """Return the violations of reserved field names, compared with the ``latest`` version."""
        if not self.reserves:
            return ()
        reserved = _names(contract)
        before = _names(latest.contract) if latest is not None else set()
        number = latest.number if latest is not None else 1
        incompatibilities = [*_removed(before - reserved), *_used(reserved & _fields(new))]
        return tuple(Conflict(version=number, direction="BACKWARD", incompatibility=item) for item in incompatibilities)


NO_CONTRACT_RULES = ContractRules()


def _removed(names: set[str]) -> Iterator[Incompatibility]:
    for name in sorted(names):
        yield Incompatibility(
            path=f"/{name}",
            rule="RESERVED_FIELD_REMOVED",
            reader="not reserved",
            writer=f"reserved field {name}",
            message=f"The new schema has reserved field {name} removed from its metadata which is present in the old "
            f"schema's metadata. Keep it in the property {_RESERVED}.",
        )


def _used(names: set[str]) -> Iterator[Incompatibility]:
    for name in sorted(names):
        yield Incompatibility(
            path=f"/{name}",
            rule="FIELD_CONFLICTS_WITH_RESERVED_FIELD",
            reader=f"field {name}",
            writer=f"reserved field {name}",
            message=f"The new schema has field that conflicts with the reserved field {name}. Give the field another name.",
        )


def _fields(schema: ParsedSchema) -> set[str]:
    """The fields at the top; of Protobuf those of every message that is not inside another."""
    if schema.data_format == ProtobufFormat.name:
        messages = schema.tree.own_messages
        return {field.name for message in messages if "." not in message.local_name for field in message.proto.field}
    return {field.name for field in format_of(schema.data_format).fields(schema)}


def _names(contract: str | None) -> set[str]:
    return {name for part in (_property(contract, _RESERVED) or "").split(",") if (name := part.strip())}


def _property(contract: str | None, name: str) -> str | None:
    value = json.loads(contract or "{}").get("properties", {}).get(name)
    return None if value is None else str(value)


def _merged(under: str | None, over: str | None) -> str | None:
    """Merge two contracts: tags of a path and properties of ``over`` win, and all sensitive properties are kept."""
    if under is None or over is None:
        return over if under is None else under
    below, above = json.loads(under), json.loads(over)
    return canonical_contract(
        {
            "tags": {**below.get("tags", {}), **above.get("tags", {})},
            "properties": {**below.get("properties", {}), **above.get("properties", {})},
            "sensitive": [*below.get("sensitive", []), *above.get("sensitive", [])],
        }
    )

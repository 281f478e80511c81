"""Users, roles and policies as the JSON of one column, and back."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson

from penstock.access.identities.entities import (
    AccountAlias,
    Entity,
    EntityKind,
    Group,
    InstanceProfile,
    ManagedPolicy,
    OidcProvider,
    PolicyVersion,
    Role,
    User,
)

__all__ = ["entity_from", "entity_json"]

# These have columns of their own.
_COLUMNS = frozenset({"account", "name", "id"})
_CLASSES: Mapping[EntityKind, type[Entity]] = {
    EntityKind.USER: User,
    EntityKind.ROLE: Role,
    EntityKind.GROUP: Group,
    EntityKind.PROFILE: InstanceProfile,
    EntityKind.OIDC: OidcProvider,
    EntityKind.ALIAS: AccountAlias,
}


def entity_json(entity: Entity) -> str:
    """Return the members that have no column, as JSON; times in ISO 8601."""
    return orjson.dumps(
        {name: value for name, value in _members(entity).items() if name not in _COLUMNS}, option=orjson.OPT_SORT_KEYS
    ).decode()


def entity_from(kind: EntityKind, account: str, name: str, unique_id: str, text: str) -> Entity:
    """Return the entity of a row."""
    members: dict[str, Any] = orjson.loads(text)
    members |= {"account": account, "name": name, "id": unique_id, "created": _time(members["created"])}
    if kind is EntityKind.POLICY:
        members["updated"] = _time(members["updated"])
        members["versions"] = tuple(
            PolicyVersion(number=each["number"], document=each["document"], created=_time(each["created"]))
            for each in members["versions"]
        )
        return ManagedPolicy(**members)
    for listed in {"attached", "client_ids", "groups", "thumbprints"} & set(members):
        members[listed] = tuple(members[listed])
    return _CLASSES[kind](**members)


def _members(entity: Entity) -> Mapping[str, Any]:
    # orjson writes data classes, tuples and times itself.
    members: Mapping[str, Any] = orjson.loads(orjson.dumps(entity))
    return members


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)

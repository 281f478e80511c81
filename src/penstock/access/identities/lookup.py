"""Reads entities by class: one by its name, or all below a path."""

from typing import TypeVar

from penstock.access.entities import Entity, kind_of, missing
from penstock.access.keys import EntityReader

__all__ = ["entities_below", "entity_named"]

E = TypeVar("E", bound=Entity)


def entity_named(reader: EntityReader, shape: type[E], account: str, name: str) -> E:
    """Return the entity of the class ``shape``; raise :class:`~penstock.access.entities.NoSuchEntity`."""
    entity_type = kind_of(shape)
    entity = reader.get_entity(entity_type, account, name)
    if not isinstance(entity, shape):
        raise missing(entity_type, name)
    return entity


def entities_below(reader: EntityReader, shape: type[E], account: str, path_prefix: str) -> list[E]:
    """Return the account's entities of the class ``shape``, by name, with paths that begin with ``path_prefix``."""
    entities = reader.list_entities(kind_of(shape), account)
    return [entity for entity in entities if isinstance(entity, shape) and entity.path.startswith(path_prefix)]

"""Random JSON Schemas, edits of them, and documents that tell them apart."""

import copy
from collections.abc import Callable
from random import Random
from typing import Any

__all__ = ["DOCUMENTS", "DRAFTS", "edited", "schema", "with_definitions"]

DRAFTS = {
    4: "http://json-schema.org/draft-04/schema#",
    6: "http://json-schema.org/draft-06/schema#",
    7: "http://json-schema.org/draft-07/schema#",
    2019: "https://json-schema.org/draft/2019-09/schema",
    2020: "https://json-schema.org/draft/2020-12/schema",
}
_NAMES = ("a", "b", "xa", "c")
_TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
_PATTERNS = ("^x", "a", "^a+$")
_VALUES: tuple[Any, ...] = (None, True, False, 0, 1, 2, 0.5, "a", "xa", "", [], [1], {}, {"a": 1}, {"a": "a", "b": 1})


def schema(random: Random, depth: int = 2, draft: int = 7) -> Any:
    """A schema of ``draft``, in which ``#/definitions/r`` may be referred to from below a value."""
    if depth <= 0 or random.random() < 0.1:
        booleans = [True, False] if draft > 4 else []
        plain = [{}, {"type": "string"}, {"type": "integer"}, {"type": "number"}, {"type": "object"}, {"enum": ["a", 1]}]
        return random.choice([*booleans, *plain])
    made: dict[str, Any] = {}
    if random.random() < 0.7:
        made["type"] = random.choice(_TYPES) if random.random() < 0.7 else random.sample(_TYPES, random.randint(1, 3))
    for _ in range(random.randint(1, 3)):
        made.update(_keyword(random, depth, draft))
    return made


def _keyword(random: Random, depth: int, draft: int) -> dict[str, Any]:  # noqa: C901, PLR0911, PLR0912
    def inner() -> Any:
        if random.random() < 0.08:
            return {"$ref": "#/definitions/r"}
        return schema(random, depth - 1, draft)

    match random.randrange(20):
        case 0:
            return {"enum": random.sample(_VALUES, random.randint(1, 4))}
        case 1:
            return {"const": random.choice(_VALUES)}
        case 2:
            return {random.choice(["minimum", "maximum"]): random.choice([-1, 0, 0.5, 1, 2])}
        case 3 if draft > 4:
            return {random.choice(["exclusiveMinimum", "exclusiveMaximum"]): random.choice([0, 0.5, 1, 2])}
        case 3:
            return {"minimum": random.choice([0, 1]), "exclusiveMinimum": random.random() < 0.5}
        case 4:
            return {random.choice(["minLength", "maxLength"]): random.randint(0, 2)}
        case 5:
            return {"pattern": random.choice(_PATTERNS)}
        case 6:
            return {"multipleOf": random.choice([1, 2, 0.5])}
        case 7 | 8 | 9:
            return {
                "properties": {name: inner() for name in random.sample(_NAMES, random.randint(1, 3))},
                **({"required": sorted(random.sample(_NAMES, random.randint(1, 2)))} if random.random() < 0.5 else {}),
                **({"additionalProperties": random.choice([False, inner()])} if random.random() < 0.5 else {}),
                **({"patternProperties": {random.choice(_PATTERNS): inner()}} if random.random() < 0.3 else {}),
            }
        case 10:
            return {random.choice(["minProperties", "maxProperties", "minItems", "maxItems"]): random.randint(0, 2)}
        case 11:
            return _items(random, inner, draft)
        case 12:
            return {"uniqueItems": random.random() < 0.8}
        case 13 if draft > 4:
            limits = {"minContains": random.randint(0, 2)} if draft >= 2019 and random.random() < 0.5 else {}
            limits |= {"maxContains": random.randint(0, 2)} if draft >= 2019 and random.random() < 0.5 else {}
            return {"contains": schema(random, depth - 1, draft), **limits}
        case 14:
            return {
                random.choice(["anyOf", "oneOf"]): [schema(random, depth - 1, draft) for _ in range(random.randint(1, 3))]
            }
        case 15:
            return {
                random.choice(["oneOf", "allOf"]): [schema(random, depth - 1, draft) for _ in range(random.randint(1, 3))]
            }
        case 16:
            return {"not": schema(random, depth - 1, draft)}
        case 17 if draft >= 7:
            return {word: schema(random, depth - 1, draft) for word in ("if", random.choice(["then", "else"]))}
        case 18:
            value = random.choice([["b"], ["b", "c"], schema(random, depth - 1, draft)])
            if draft < 2019:
                return {"dependencies": {"a": value if draft > 4 or isinstance(value, (list, dict)) else {}}}
            return {"dependentRequired" if isinstance(value, list) else "dependentSchemas": {"a": value}}
        case 19 if draft > 4:
            names = {"propertyNames": random.choice([{"pattern": "a"}, {"maxLength": 1}, {"enum": ["a", "b"]}])}
            unevaluated = {random.choice(["unevaluatedProperties", "unevaluatedItems"]): random.choice([False, inner()])}
            return unevaluated if draft >= 2019 and random.random() < 0.7 else names
    return {"title": random.choice("xyz")}


def _items(random: Random, inner: Callable[..., Any], draft: int) -> dict[str, Any]:
    if random.random() < 0.5:
        return {"items": inner()}
    listed = [inner() for _ in range(random.randint(1, 2))]
    rest = (
        {"items" if draft == 2020 else "additionalItems": random.choice([False, inner()])} if random.random() < 0.5 else {}
    )
    if draft == 4 and isinstance(rest.get("additionalItems"), bool):
        rest = {"additionalItems": False}
    return {"prefixItems" if draft == 2020 else "items": listed, **rest}


def edited(random: Random, made: Any, draft: int = 7) -> Any:
    """``made`` with one or two places changed."""
    changed: Any = copy.deepcopy(made)
    for _ in range(random.randint(1, 2)):
        changed = _edit(random, changed, draft)
    return changed


def _edit(random: Random, made: Any, draft: int) -> Any:  # noqa: C901, PLR0912
    if not isinstance(made, dict) or not made or random.random() < 0.1:
        return schema(random, 1, draft)
    word = random.choice(sorted(made))
    value = made[word]
    if random.random() < 0.15:
        del made[word]
        if word == "minimum":
            made.pop("exclusiveMinimum", None) if draft == 4 else None
        return made
    if random.random() < 0.15:
        made.update(_keyword(random, 1, draft))
        return made
    if word in {"properties", "patternProperties"}:
        name = random.choice(sorted(value)) if value else "a"
        if random.random() < 0.3:
            value.pop(name, None)
        elif random.random() < 0.4 and word == "properties":
            value[random.choice(_NAMES)] = schema(random, 1, draft)
        else:
            value[name] = _edit(random, value.get(name, {}), draft)
    elif word in {"anyOf", "oneOf", "allOf", "prefixItems"} or (word == "items" and isinstance(value, list)):
        index = random.randrange(len(value))
        match random.randrange(3):
            case 0 if len(value) > 1:
                del value[index]
            case 1:
                value.append(schema(random, 1, draft))
            case _:
                value[index] = _edit(random, value[index], draft)
    elif word in {"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}:
        made[word] = max(0, value + random.choice([-1, 1]))
    elif word in {"items", "not", "additionalProperties", "contains", "if", "then", "else", "unevaluatedProperties"}:
        made[word] = _edit(random, value, draft)
    elif word == "type":
        types = [value] if isinstance(value, str) else value
        made[word] = sorted({*types, random.choice(_TYPES)}) if random.random() < 0.6 else random.choice(types)
    elif word in {"enum", "required"} and len(value) > 1 and random.random() < 0.5:
        value.pop()
    elif word == "enum":
        value.extend(item for item in ["b", 3] if item not in value)
    return made


def with_definitions(random: Random, made: dict[str, Any], definition: Any, draft: int) -> dict[str, Any]:
    """``made`` as a whole definition with its ``$schema`` and what it may refer to."""
    body = made if isinstance(made, dict) else {"allOf": [made]} if draft > 4 else {}
    return {**body, "$schema": DRAFTS[draft], "definitions": {"r": definition if isinstance(definition, dict) else {}}}


def _document(random: Random, depth: int) -> Any:
    kind = random.randrange(9 if depth else 6)
    match kind:
        case 0:
            return random.choice([None, True, False])
        case 1 | 2:
            return random.choice([-1, 0, 1, 2, 3, 4, 0.5, 1.5, 0.25])
        case 3 | 4 | 5:
            return random.choice(["", "a", "b", "aa", "xa", "xab", "abc"])
        case 6:
            return [_document(random, depth - 1) for _ in range(random.randint(0, 3))]
        case _:
            return {name: _document(random, depth - 1) for name in random.sample((*_NAMES, "aa"), random.randint(0, 3))}


_RANDOM = Random(7)
DOCUMENTS = [*_VALUES, *(_document(_RANDOM, 3) for _ in range(1_200))]

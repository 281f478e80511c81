"""Parsing of Avro definitions, by the rules of the Avro specification's 'Schema Declaration' and of Avro 1.11's Java.

This is the only walk over the untrusted JSON of a definition. It makes typed values, and reports the path of a fault in a
refused definition. All other walks are a :class:`~penstock.schema.avro.fold.Fold` over the values. fastavro must accept what
is accepted here (:mod:`penstock.schema.avro.library`). This module checks what Java refuses and fastavro does not: invalid
names and namespaces, fields or branches that occur twice, types defined twice over the branches of a union, defaults that do
not fit (that of a union belongs to its first branch; numbers have a range), and orders, sizes, docs and aliases of the wrong
type. A logicalType is kept and never refused, as the specification requires.
"""

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from penstock.schema.avro.canonical import canonical_text
from penstock.schema.avro.defaults import check_default
from penstock.schema.avro.library import library_refusal
from penstock.schema.avro.model import (
    PRIMITIVES,
    ArrayType,
    AvroField,
    AvroSchema,
    AvroType,
    EnumType,
    FixedType,
    MapType,
    NamedType,
    PrimitiveType,
    RecordType,
    Reference,
    UnionType,
    branch_name,
    describe,
)
from penstock.schema.errors import InvalidSchema
from penstock.schema.format import ReferencedText
from penstock.schema.json_text import read_json

__all__ = ["MAX_TYPE_DEPTH", "parse_avro", "parse_registered"]

MAX_TYPE_DEPTH = 64

# Limited, because each finding of a comparison contains names several times, and in its path.
_NAME = re.compile(r"(?!.{1001})[A-Za-z_][A-Za-z0-9_]*")
_FULL_NAME = re.compile(r"(?!.{1001})[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
# For definitions registered before names were checked: any string except the empty one and those with control characters.
_LEGACY_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,1000}")
_NAME_RULE = "A name has up to 1,000 letters, digits and underscores, and does not begin with a digit."
_MAX_FIXED = 2**31 - 1  # Avro's sizes are Java ints

# Attributes that Schema.java and the specification define; all others are custom properties.
_TYPE_ATTRIBUTES = frozenset(
    {"type", "name", "namespace", "doc", "aliases", "fields", "symbols", "items", "values", "size", "default"}
)
_FIELD_ATTRIBUTES = frozenset({"type", "name", "doc", "aliases", "default", "order"})
_BARE = {name: PrimitiveType(name=name) for name in PRIMITIVES}
# The unions of two primitives: most unions are among them.
_PAIRS = {
    (one, other): UnionType(branches=(_BARE[one], _BARE[other]))
    for one, other in itertools.permutations(sorted(PRIMITIVES), 2)
}
_ORDERS = ("ascending", "descending", "ignore")


def parse_avro(text: str, references: Sequence[ReferencedText] = (), *, legacy: bool = False) -> AvroSchema:
    """Return the schema in ``text``. Raise :class:`InvalidSchema` with the fault and its path.

    ``text`` can use the named types of ``references``, each of which comes after those it refers to. Several texts may
    define a type if all define it alike. With ``legacy`` names and defaults are not checked. They are never checked in the
    ``references``, which were accepted at their registration.
    """
    parser = _Parser(legacy=True)
    for reference in references:
        try:
            parser.read(read_json(reference.text))
        except InvalidSchema as error:
            raise InvalidSchema(f"The referenced schema '{reference.name[:200]}' cannot be used: {error}") from None
    parser.legacy = legacy
    root = parser.read(read_json(text))
    schema = AvroSchema(root=root, names=parser.names)
    refusal = None if legacy or references else library_refusal(schema)
    if refusal is not None:
        raise InvalidSchema(f"The definition is not an Avro schema: {refusal}.")
    return schema


def parse_registered(node: Any, *, max_depth: int = MAX_TYPE_DEPTH) -> AvroSchema:
    """Return the schema that ``node`` (JSON values) defines, which must be registered already, or canonical.

    Names, defaults, sizes and docs are not checked again. Types may nest up to ``max_depth`` levels.
    Raise :class:`InvalidSchema`.
    """
    parser = _Parser(legacy=True, max_depth=max_depth)
    root = parser.read(node)
    return AvroSchema(root=root, names=parser.names)


class _Parser:
    """Parses texts one after another; ``names`` has the named types so far, since a definition must precede its use.

    With ``legacy`` names, defaults, sizes and docs are not checked.
    """

    def __init__(self, *, legacy: bool = False, max_depth: int = MAX_TYPE_DEPTH) -> None:
        self.legacy = legacy
        self.max_depth = max_depth
        self.names: dict[str, NamedType] = {}
        self.here: set[str] = set()  # names that this text defines
        self.open: set[str] = set()  # records whose fields are being read: they can be used but are not complete
        self.defaults: list[tuple[AvroField, str]] = []  # checked last: a default can be a record that is still open
        self.again: list[tuple[NamedType, str]] = []  # earlier texts' types that this text defines too

    def read(self, node: Any) -> AvroType:
        """Return the type that JSON values of limited depth define. Later texts can use its named types."""
        self.here, self.open, self.defaults, self.again = set(), set(), [], []
        root = self.type(node, namespace="", path="", depth=0)
        if not self.legacy:
            self.check_defaults()
        self.check_repeated()
        return root

    def type(self, node: Any, *, namespace: str, path: str, depth: int) -> AvroType:
        if depth > self.max_depth:
            _refuse(
                path,
                f"types nest more than {self.max_depth} levels.",
                "Define inner types once, as branches of a shallower type, and refer to them by name.",
            )
        if isinstance(node, str):
            return self._named_use(node, {}, namespace, path)
        if isinstance(node, list):
            return self._union(node, namespace, path, depth)
        if isinstance(node, dict):
            return self._object(node, namespace, path, depth)
        return _refuse(path, f"{_json_kind(node)} is not a type.", "A type is a name, an object with a 'type', or a list.")

    def check_defaults(self) -> None:
        """Check all defaults, once all types are complete."""
        for field, path in self.defaults:
            problem = check_default(field.type, field.default, self.names)
            if problem is not None:
                what = f"the default of field '{field.name}' does not fit its type {describe(field.type)}: {problem}"
                _refuse(f"{path}/default", what)

    def check_repeated(self) -> None:
        """Check that all texts define a type alike."""
        for earlier, path in self.again:
            ours, theirs = (
                canonical_text(AvroSchema(root=avro_type, names=self.names))
                for avro_type in (self.names[earlier.name], earlier)
            )
            if ours != theirs:
                _refuse(
                    path,
                    f"the type '{earlier.name}' is defined differently in a referenced schema.",
                    "Use the referenced type by its name, or give this type another name.",
                )

    def _object(self, node: Mapping[str, Any], namespace: str, path: str, depth: int) -> AvroType:
        if "type" not in node:
            _refuse(path, "the object has no 'type'.", 'Add one, such as "type": "record".')
        type_name = node["type"]
        if not isinstance(type_name, str):
            _refuse(
                f"{path}/type",
                f"a type's 'type' must be a name, not {_json_kind(type_name)}.",
                "Write the inner type itself in place of this object.",
            )
        props = _others(node, _TYPE_ATTRIBUTES)
        match type_name:
            case "record" | "error":
                return self._record(node, props, namespace, path, depth)
            case "enum":
                return self._enum(node, props, namespace, path)
            case "fixed":
                return self._fixed(node, props, namespace, path)
            case "array":
                items = self.type(_need(node, "items", path), namespace=namespace, path=f"{path}/items", depth=depth + 1)
                return ArrayType(items=items, props=props)
            case "map":
                values = self.type(_need(node, "values", path), namespace=namespace, path=f"{path}/values", depth=depth + 1)
                return MapType(values=values, props=props)
            case _:
                return self._named_use(type_name, props, namespace, path)

    def _named_use(self, name: str, props: Mapping[str, Any], namespace: str, path: str) -> AvroType:
        if name in PRIMITIVES:
            return PrimitiveType(name=name, props=props) if props else _BARE[name]
        for full in dict.fromkeys((_qualify(name, namespace), name)):
            if full in self.names or full in self.open:
                return Reference(name=full)
        where = f" in namespace '{namespace}'" if namespace and "." not in name else ""
        return _refuse(
            path,
            f"'{name[:200]}' is neither an Avro type nor a type that is defined before its use here{where}.",
            "Define it at its first use, or write its full name.",
        )

    def _union(self, node: Sequence[Any], namespace: str, path: str, depth: int) -> UnionType:
        if len(node) == 2 and depth < self.max_depth and isinstance(node[0], str) and isinstance(node[1], str):
            bare_union = _PAIRS.get((node[0], node[1]))
            if bare_union is not None:
                return bare_union
        if not node:
            _refuse(path, "the union has no branches.", 'List its types, such as ["null", "string"].')
        branches: list[AvroType] = []
        keys: set[str] = set()
        for index, item in enumerate(node):
            branch = self.type(item, namespace=namespace, path=f"{path}/{index}", depth=depth + 1)
            if isinstance(branch, UnionType):
                _refuse(f"{path}/{index}", "a union is directly inside a union.", "Merge the two lists.")
            key = branch_name(branch)
            if key in keys:
                _refuse(
                    f"{path}/{index}",
                    f"the union has '{key}' twice; only named types may repeat, under different names.",
                    "Keep one of the two, or wrap one in a record.",
                )
            keys.add(key)
            branches.append(branch)
        return UnionType(branches=tuple(branches))

    def _record(
        self, node: Mapping[str, Any], props: Mapping[str, Any], namespace: str, path: str, depth: int
    ) -> RecordType:
        name = self._define(node, namespace, path)
        inner = name.rpartition(".")[0]
        nodes = _need(node, "fields", path)
        if not isinstance(nodes, list):
            _refuse(f"{path}/fields", f"'fields' must be a list, not {_json_kind(nodes)}.")
        self.open.add(name)
        fields: list[AvroField] = []
        names: set[str] = set()
        for index, item in enumerate(nodes):
            field = self._field(item, inner, f"{path}/fields/{index}", depth)
            if field.name in names:
                _refuse(
                    f"{path}/fields/{index}", f"record {name} has the field '{field.name}' twice.", "Rename one of them."
                )
            names.add(field.name)
            fields.append(field)
        self.open.discard(name)
        record = RecordType(
            name=name,
            fields=tuple(fields),
            doc=self._doc(node, path),
            aliases=self._aliases(node, inner, path),
            kind=node["type"],
            props=props,
        )
        self._keep(record, path)
        return record

    def _field(self, node: Any, namespace: str, path: str, depth: int) -> AvroField:
        if not isinstance(node, dict):
            _refuse(path, f"a field must be an object, not {_json_kind(node)}.")
        name = _need(node, "name", path)
        if not self._is_name(name, _NAME):
            _refuse(f"{path}/name", f"{_quote(name)} is not a valid field name.", _NAME_RULE)
        order = "ascending" if "order" not in node else _order(node["order"], path)
        avro_type = self._field_type(_need(node, "type", path), namespace, path, depth + 1)
        field = AvroField(
            name=name,
            type=avro_type,
            doc=self._doc(node, path) if "doc" in node else None,
            has_default="default" in node,
            default=node.get("default"),
            aliases=tuple(dict.fromkeys(self._alias_list(node, path))) if "aliases" in node else (),
            order=order,
            props=_others(node, _FIELD_ATTRIBUTES),
        )
        if field.has_default and (field.default is not None or not _begins_with_null(avro_type)):
            self.defaults.append((field, path))
        return field

    def _field_type(self, node: Any, namespace: str, path: str, depth: int) -> AvroType:
        bare = _BARE.get(node) if isinstance(node, str) and depth <= self.max_depth else None
        return bare or self.type(node, namespace=namespace, path=f"{path}/type", depth=depth)

    def _enum(self, node: Mapping[str, Any], props: Mapping[str, Any], namespace: str, path: str) -> EnumType:
        name = self._define(node, namespace, path)
        symbols = _need(node, "symbols", path)
        if not isinstance(symbols, list):
            _refuse(f"{path}/symbols", f"'symbols' must be a list, not {_json_kind(symbols)}.")
        unique: set[str] = set()
        for index, symbol in enumerate(symbols):
            if not self._is_name(symbol, _NAME):
                _refuse(f"{path}/symbols/{index}", f"{_quote(symbol)} is not a valid symbol.", _NAME_RULE)
            if symbol in unique:
                _refuse(f"{path}/symbols/{index}", f"enum {name} has the symbol '{symbol}' twice.", "Keep one of them.")
            unique.add(symbol)
        default = node.get("default")
        if "default" in node and (not isinstance(default, str) or default not in unique):
            _refuse(
                f"{path}/default", f"{_quote(default)} is not among the symbols of enum {name}.", "Add it or name another."
            )
        enum = EnumType(
            name=name,
            symbols=tuple(symbols),
            default=default,
            doc=self._doc(node, path),
            aliases=self._aliases(node, name.rpartition(".")[0], path),
            props=props,
        )
        self._keep(enum, path)
        return enum

    def _fixed(self, node: Mapping[str, Any], props: Mapping[str, Any], namespace: str, path: str) -> FixedType:
        name = self._define(node, namespace, path)
        size = _need(node, "size", path)
        if not isinstance(size, int) or isinstance(size, bool) or size < 0 or (size > _MAX_FIXED and not self.legacy):
            _refuse(
                f"{path}/size", f"{_quote(size)} is not a size.", f"Give a whole number of bytes from 0 to {_MAX_FIXED}."
            )
        aliases = self._aliases(node, name.rpartition(".")[0], path)
        fixed_type = FixedType(name=name, size=size, doc=self._doc(node, path), aliases=aliases, props=props)
        self._keep(fixed_type, path)
        return fixed_type

    def _define(self, node: Mapping[str, Any], namespace: str, path: str) -> str:
        """Return the full name that ``node`` defines, checked; see the specification's 'Names'."""
        name = _need(node, "name", path)
        if not self._is_name(name, _FULL_NAME):
            _refuse(f"{path}/name", f"{_quote(name)} is not a valid type name.", _NAME_RULE)
        space = node.get("namespace", namespace)
        if space is None:
            space = namespace
        if not isinstance(space, str) or (space and not self._is_name(space, _FULL_NAME)):
            _refuse(
                f"{path}/namespace",
                f"{_quote(space)} is not a valid namespace.",
                "A namespace is names joined by dots, of up to 1,000 characters.",
            )
        full = _qualify(name, space)
        if full in PRIMITIVES:
            _refuse(f"{path}/name", f"'{full}' is the name of a primitive type.", "Choose another name, or add a namespace.")
        if full in self.here:
            _refuse(f"{path}/name", f"the type '{full}' is defined twice.", "Define it once and refer to it by name.")
        self.here.add(full)
        return full

    def _doc(self, node: Mapping[str, Any], path: str) -> str | None:
        doc = node.get("doc")
        if doc is None or isinstance(doc, str):
            return doc
        return None if self.legacy else _refuse(f"{path}/doc", f"'doc' must be a string, not {_json_kind(doc)}.")

    def _is_name(self, name: Any, rule: re.Pattern[str]) -> bool:
        return isinstance(name, str) and (_LEGACY_NAME if self.legacy else rule).fullmatch(name) is not None

    def _alias_list(self, node: Mapping[str, Any], path: str) -> Sequence[str]:
        if "aliases" not in node:
            return ()
        aliases = node["aliases"]
        if not isinstance(aliases, list) or not all(self._is_name(alias, _FULL_NAME) for alias in aliases):
            _refuse(f"{path}/aliases", "'aliases' must be a list of names.", _NAME_RULE)
        return aliases

    def _aliases(self, node: Mapping[str, Any], namespace: str, path: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_qualify(alias, namespace) for alias in self._alias_list(node, path)))

    def _keep(self, avro_type: NamedType, path: str) -> None:
        if avro_type.name in self.names:
            self.again.append((self.names[avro_type.name], path))
        self.names[avro_type.name] = avro_type


def _qualify(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _begins_with_null(avro_type: AvroType) -> bool:
    """Return whether ``avro_type`` is a union that begins with null, so that null is a valid default."""
    return isinstance(avro_type, UnionType) and avro_type.branches[0] is _BARE["null"]


def _need(node: Mapping[str, Any], key: str, path: str) -> Any:
    if key not in node:
        what = node.get("type") if isinstance(node.get("type"), str) else "field"
        _refuse(path, f"the {what} has no '{key}'.", f"Add '{key}'.")
    return node[key]


def _order(order: Any, path: str) -> str:
    if not isinstance(order, str) or order.lower() not in _ORDERS:
        _refuse(f"{path}/order", f"{_quote(order)} is not a sort order.", f"Use one of {', '.join(_ORDERS)}.")
    return order.lower()


def _others(node: Mapping[str, Any], attributes: frozenset[str]) -> Mapping[str, Any]:
    """Return the custom members, those not in ``attributes``."""
    if node.keys() <= attributes:  # nearly always
        return {}
    return {key: value for key, value in node.items() if key not in attributes}


def _quote(value: Any) -> str:
    return f"'{value[:100]}'" if isinstance(value, str) else _json_kind(value)


def _json_kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {str(value)[:40]}"
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "an object"


def _refuse(path: str, message: str, remedy: str | None = None) -> NoReturn:
    raise InvalidSchema(message, path=path or "/", remedy=remedy)

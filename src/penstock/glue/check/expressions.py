"""What an expression may be, and which names of Glue's library it uses."""

import ast
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Optional

from penstock.glue.check.signatures import Signature
from penstock.glue.check.uses import Call, Uses
from penstock.glue.check.values import (
    CLASSES,
    FRAME,
    TRANSFORM,
    Entries,
    Function,
    Instance,
    Method,
    Module,
    Name,
    Text,
    Value,
    Values,
    class_of,
    result_of,
)
from penstock.glue.library.table import ROWS, module_row

__all__ = ["Expressions", "Scope"]

_ANYTHING: Values = frozenset()
# The attributes of GlueContext whose methods are its own: create_dynamic_frame.from_options.
_READERS = frozenset(
    name for name, made in class_of("GlueContext").attributes.items() if made.endswith(("FrameReader", "FrameWriter"))
)
_PROPERTIES = {
    **{("GlueContext", name): Instance(name) for name in _READERS},
    ("GlueContext", "spark_session"): Instance("SparkSession"),
    ("SparkSession", "sparkContext"): Instance("SparkContext"),
}
_DETECTS = {"detect", "classify_columns", "classifyColumns"}
_JVM = {"_jvm", "_jsc", "_jsparkSession", "_jsqlContext", "_ssql_ctx", "_glue_scala_context"}
_SPARK = {"SparkContext", "SparkSession"}
# Names that only Glue's classes have, so that an unknown object with one of them is of that class.
_ONLY_GLUES = {
    name: owner
    for owner, names in {
        "GlueContext": "create_dynamic_frame write_dynamic_frame forEachBatch purge_s3_path purge_table transition_s3_path "
        "transition_table extract_jdbc_conf create_dynamic_frame_from_options create_dynamic_frame_from_catalog "
        "write_dynamic_frame_from_options write_dynamic_frame_from_catalog write_dynamic_frame_from_jdbc_conf getSink "
        "get_catalog_schema_as_spark_schema add_ingestion_time_columns create_sample_dynamic_frame_from_catalog",
        "DynamicFrame": "apply_mapping resolveChoice relationalize unbox unnest_ddb_json simplify_ddb_json split_rows "
        "split_fields mergeDynamicFrame errorsAsDynamicFrame stageErrorsCount assertErrorThreshold select_fields "
        "rename_field drop_fields",
    }.items()
    for name in names.split()
}
# Its source, its extension, its options and its tables.
_HUDI = re.compile(r"^org\.apache\.(spark\.sql\.)?hudi|^hoodie\.|\bUSING\s+hudi\b", re.IGNORECASE)


@dataclass(slots=True)
class Scope:
    """The names of a module or of one call of a function; ``nodes`` are the expressions that were assigned."""

    parent: Optional["Scope"] = None
    names: dict[str, Values] = field(default_factory=dict)
    nodes: dict[str, ast.expr | None] = field(default_factory=dict)

    def find(self, name: str) -> Values:
        """Return what a name may be."""
        if name in self.names:
            return self.names[name]
        return self.parent.find(name) if self.parent is not None else _ANYTHING

    def node(self, name: str) -> ast.expr | None:
        """Return the expression that was assigned to a name last."""
        if name in self.nodes:
            return self.nodes[name]
        return self.parent.node(name) if self.parent is not None else None


class Expressions(ABC):
    """Evaluates expressions; what they use goes to ``uses``."""

    def __init__(self, uses: Uses) -> None:
        self.uses = uses
        self.globals = Scope()
        self.attributes: dict[str, Values] = {}
        """Of the script's own objects."""

    @abstractmethod
    def call(self, number: int, positional: Sequence[Values], named: Mapping[str, Values]) -> Values:
        """Return what a function of the script may return."""

    def member(self, module: str, name: str) -> Values:
        """Return what ``from module import name`` gives."""
        inner = f"{module}.{name}"
        if module_row(inner) is not None and not any((row.module, row.name) == (module, name) for row in ROWS):
            return frozenset({Module(inner)})
        # The package and awsglue.context have the classes of frames, too.
        if module in {"awsglue", "awsglue.context"} and name.startswith("DynamicFrame"):
            module = "awsglue.dynamicframe"
        return frozenset({Name(module, name)})

    def evaluate(self, node: ast.expr, scope: Scope) -> Values:
        """Return what an expression may be."""
        match node:
            case ast.Name():
                values = self._name(node, scope)
            case ast.Attribute():
                values = self._attribute(node, scope)
            case ast.Call():
                values = self._call(node, scope)
            case ast.Constant(value=str(text)):
                if _HUDI.search(text):
                    self.uses.hudi.append((node.lineno, id(node)))
                values = frozenset({Text(text)})
            case ast.Lambda():
                self.evaluate(node.body, Scope(scope))
                values = _ANYTHING
            case ast.Dict():
                values = self._dictionary(node, scope)
            case ast.NamedExpr():
                values = scope.names[node.target.id] = self.evaluate(node.value, scope)
            case _:
                values = self._composed(node, scope)
        return values

    def _dictionary(self, node: ast.Dict, scope: Scope) -> Values:
        entries: list[tuple[str | None, ast.expr, Values]] = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is not None:
                self.evaluate(key, scope)
            values = self.evaluate(value, scope)
            if key is None:
                entries.append((None, value, values))
            elif isinstance(key, ast.Constant) and isinstance(key.value, str):
                entries.append((key.value, value, values))
        return _entries(entries)

    def _composed(self, node: ast.expr, scope: Scope) -> Values:
        parts = [self.evaluate(expression, scope) for expression in _expressions(node)]
        if isinstance(node, ast.IfExp):
            return parts[1] | parts[2]
        if isinstance(node, (ast.BoolOp, ast.Await, ast.Starred)):
            return frozenset().union(*parts)
        if isinstance(node, ast.Subscript) and Instance("DynamicFrameCollection") in parts[0]:
            return frozenset({FRAME})
        return _ANYTHING

    def _name(self, node: ast.Name, scope: Scope) -> Values:
        values = scope.find(node.id)
        for value in values:
            if isinstance(value, Name) and value.module not in {"pyspark", "boto3"}:
                self.uses.use(node, value.module, "", value.name, certain=len(values) == 1)
        return frozenset(replace(entries, literal=False) if isinstance(entries, Entries) else entries for entries in values)

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Values:
        bases = self.evaluate(node.value, scope)
        values: set[Value] = set()
        for base in bases:
            values |= self._member_of(base, node, certain=len(bases) == 1)
        if not bases:
            if isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}:
                return self.attributes.get(node.attr, _ANYTHING)
            owner = _ONLY_GLUES.get(node.attr)
            if owner is not None:
                return self._member_of(Instance(owner), node, certain=False)
            if node.attr in _JVM:
                return frozenset({Instance("JVM")})
            return frozenset(function for function in self.attributes.get(node.attr, ()) if isinstance(function, Function))
        return frozenset(values)

    def _member_of(self, base: Value, node: ast.Attribute, *, certain: bool) -> Values:
        name = node.attr
        if isinstance(base, Module):
            members = self.member(base.name, name)
            for member in members:
                if isinstance(member, Name) and base.name != "boto3":
                    self.uses.use(node, member.module, "", name, certain=certain)
            return members if base.name != "boto3" else frozenset({Method("boto3", name)})
        if isinstance(base, Name):
            if base.module in {"pyspark", "boto3"}:
                return frozenset({Method(base.name if base.module == "pyspark" else "boto3", name)})
            if base.name in CLASSES:
                return self._method(base.name, node, certain=certain)
            return frozenset({Method(f"{TRANSFORM}{base.name}", name)})
        if isinstance(base, Instance):
            return self._method(base.owner, node, certain=certain)
        return _ANYTHING

    def _method(self, owner: str, node: ast.Attribute, *, certain: bool) -> Values:
        name = node.attr
        if owner == "JVM":
            self.uses.jvm[id(node)] = (ast.unparse(node), node.lineno)
        if owner == "JVM" or name in _JVM:
            return frozenset({Instance("JVM")})
        if owner in _READERS:
            owner, name = "GlueContext", f"{owner}_{name}"
        result = _PROPERTIES.get((owner, name))
        if result is not None:
            return frozenset({result})
        if owner in CLASSES:
            self.uses.use(node, CLASSES[owner], owner, name, certain=certain)
        return frozenset({Method(owner, name)})

    def _call(self, node: ast.Call, scope: Scope) -> Values:
        functions = self.evaluate(node.func, scope)
        positional = [self.evaluate(arg, scope) for arg in node.args]
        named = {keyword.arg or "**": self.evaluate(keyword.value, scope) for keyword in node.keywords}
        self._note_format(node, positional)
        results: set[Value] = set()
        for function in functions:
            results |= self._result(function, node, positional, named, scope)
        return frozenset(results)

    def _result(
        self, function: Value, node: ast.Call, positional: Sequence[Values], named: Mapping[str, Values], scope: Scope
    ) -> Values:
        match function:
            case Function(number):
                return self.call(number, positional, named)
            case Name():
                return self._constructed(function, node, scope)
            case Instance(owner) if owner.startswith(TRANSFORM):
                return self._method_result(owner, "__call__", node, positional, named)
            case Method(owner, name):
                if owner == f"{TRANSFORM}EntityDetector" and name in _DETECTS:
                    self._note_entities(name, node, scope)
                return self._method_result(owner, name, node, positional, named)
        return _ANYTHING

    def _method_result(
        self, owner: str, name: str, node: ast.Call, positional: Sequence[Values], named: Mapping[str, Values]
    ) -> Values:
        result = result_of(owner, name)
        if owner.startswith(TRANSFORM):
            if owner == f"{TRANSFORM}EvaluateDataQuality":
                self._note_call("EvaluateDataQuality", node, positional, named, class_of(owner).methods["__call__"])
            if not class_of(owner).methods:
                result = FRAME  # a transform that is refused
        elif owner == "boto3" and name in {"client", "resource"}:
            self._note_call(name, node, positional, named, Signature(parameters=("service_name",)))
        elif owner == "boto3" or (owner in _SPARK and name == "getOrCreate"):
            result = Instance(owner)
        elif owner == "GlueContext":
            self._glue_call(name, node, positional, named)
        elif name == "setFormat" and owner in {"DataSource", "DataSink"}:
            self._note_call(f"{owner}.{name}", node, positional, named, class_of(owner).methods[name])
        return _ANYTHING if result is None else frozenset({result})

    def _constructed(self, function: Name, node: ast.Call, scope: Scope) -> Values:
        if function.name == "getResolvedOptions":
            self._note_arguments(node, scope)
        elif function.name in CLASSES or (function.module == "pyspark" and function.name in _SPARK):
            return frozenset({Instance(function.name)})
        elif function.module == "boto3":
            return frozenset({Instance("boto3")})
        elif function.module.startswith("awsglue") and function.name[:1].isupper():
            return frozenset({Instance(f"{TRANSFORM}{function.name}")})
        return _ANYTHING

    def _glue_call(self, name: str, node: ast.Call, positional: Sequence[Values], named: Mapping[str, Values]) -> None:
        if name == "forEachBatch":
            for functions in (*positional[1:2], *(named[item] for item in ("batch_function",) if item in named)):
                for function in functions:
                    if isinstance(function, Function):
                        self.call(function.number, [frozenset({Instance("DataFrame")}), _ANYTHING], {})
        signature = class_of("GlueContext").methods.get(name)
        if signature is not None:
            self._note_call(name, node, positional, named, signature)

    def _note_call(
        self, name: str, node: ast.Call, positional: Sequence[Values], named: Mapping[str, Values], signature: Signature
    ) -> None:
        arguments = {**dict(zip(signature.parameters, positional, strict=False)), **named}
        if signature.takes_options:
            further = [keyword for keyword in node.keywords if keyword.arg not in signature.parameters]
            arguments["options"] = _entries(
                [(keyword.arg, keyword.value, named[keyword.arg or "**"]) for keyword in further]
            )
        self.uses.calls[id(node)] = Call(name=name, line=node.lineno, node=id(node), arguments=arguments)

    def _note_arguments(self, node: ast.Call, scope: Scope) -> None:
        for name in _listed_texts(node, "options", scope):
            self.uses.arguments.setdefault(name, (node.lineno, id(node)))

    def _note_entities(self, name: str, node: ast.Call, scope: Scope) -> None:
        types = class_of(f"{TRANSFORM}EntityDetector").methods[name].parameters[1]
        names = _listed_texts(node, types, scope)
        self.uses.entities.append((names, node.lineno, id(node)))

    def _note_format(self, node: ast.Call, positional: Sequence[Values]) -> None:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "format" and len(positional) == 1:
            # "...".format(x) is not a reader's.
            if isinstance(node.func.value, (ast.Constant, ast.JoinedStr)):
                return
            texts = [text.text for text in positional[0] if isinstance(text, Text)]
            if len(texts) == 1:
                self.uses.texts.append((texts[0], node.lineno, id(node)))


def _listed_texts(node: ast.Call, name: str, scope: Scope) -> list[str]:
    """Return the literal texts of a call's second parameter, called ``name``: of a list, or the keys of a map."""
    argument = next(
        (keyword.value for keyword in node.keywords if keyword.arg == name), node.args[1] if node.args[1:] else None
    )
    if isinstance(argument, ast.Name):
        argument = scope.node(argument.id)
    listed = argument.elts if isinstance(argument, (ast.List, ast.Tuple, ast.Set)) else ()
    parts = argument.keys if isinstance(argument, ast.Dict) else listed
    return [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def _entries(pairs: Sequence[tuple[str | None, ast.expr, Values]]) -> Values:
    """Return a dictionary by its keys, their expressions and values; what is under None is unpacked."""
    items: list[tuple[str, str | None, int]] = []
    literal = True
    for key, node, values in pairs:
        if key is not None:
            items.append((key, _literal(node, values), node.lineno))
            continue
        literal = False
        items += (item for entry in values if isinstance(entry, Entries) for item in entry.items)
    return frozenset({Entries(tuple(items), literal)})


def _literal(node: ast.expr, values: Values) -> str | None:
    """Return a value as an option's text, None where it is computed."""
    if isinstance(node, ast.Constant):
        return str(node.value).lower() if isinstance(node.value, bool) else str(node.value)
    texts = [text.text if isinstance(text, Text) else None for text in values]
    return texts[0] if len(texts) == 1 else None


def _expressions(node: ast.AST) -> list[ast.expr]:
    """Return the expressions within one, those of comprehensions included."""
    inner: list[ast.expr] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            inner.append(child)
        elif isinstance(child, ast.comprehension):
            inner += [child.iter, *child.ifs]
    return inner

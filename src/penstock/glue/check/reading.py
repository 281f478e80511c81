"""Reads a script from top to bottom, keeping what each name may be: an interpreter of what concerns Glue's library.

Branches are read one after the other and their outcomes joined, loops twice, functions at their calls with what is given to
them. What a script computes is not known, and not needed.
"""

import ast
from collections.abc import Mapping, Sequence

from penstock.glue.check.expressions import Expressions, Scope
from penstock.glue.check.uses import Uses
from penstock.glue.check.values import Function, Instance, Module, Name, Values
from penstock.glue.library.table import ROWS

__all__ = ["read"]

_LIBRARIES = frozenset({row.module.partition(".")[0] for row in ROWS})
_ANNOTATIONS = {"GlueContext", "DynamicFrame", "DynamicFrameCollection", "SparkContext", "SparkSession", "DataFrame"}
_MAX_CALLS = 3_000
_TWICE = 2  # levels of loops


def read(tree: ast.Module) -> Uses:
    """Return the uses of a parsed script."""
    reader = _Reader()
    reader.statements(tree.body, reader.globals)
    reader.finish()
    return reader.uses


class _Reader(Expressions):
    def __init__(self) -> None:
        super().__init__(Uses())
        self._functions: list[tuple[ast.FunctionDef | ast.AsyncFunctionDef, Scope]] = []
        self._called: set[int] = set()
        self._active: list[int] = []
        self._returned: list[set[object]] = []
        self._calls = 0
        self._loops = 0

    def finish(self) -> None:
        """Read the functions that were never called, with unknown arguments."""
        number = 0
        while number < len(self._functions):
            if number not in self._called:
                self.call(number, [], {})
            number += 1

    def call(self, number: int, positional: Sequence[Values], named: Mapping[str, Values]) -> Values:
        node, defined = self._functions[number]
        self._called.add(number)
        self._calls += 1
        if number in self._active or self._calls > _MAX_CALLS:
            return frozenset()
        names = [posonlyarg.arg for posonlyarg in (*node.args.posonlyargs, *node.args.args)]
        if names[:1] in (["self"], ["cls"]) and len(positional) < len(names):
            positional = [frozenset(), *positional]
        arguments = {**dict(zip(names, positional, strict=False)), **named}
        scope = Scope(defined)
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            scope.names[argument.arg] = arguments.get(argument.arg) or _annotated(argument.annotation)
        self._active.append(number)
        self._returned.append(set())
        self.statements(node.body, scope)
        self._active.pop()
        return frozenset(self._returned.pop())  # type: ignore[arg-type]

    def statements(self, body: Sequence[ast.stmt], scope: Scope) -> None:
        for statement in body:
            self._statement(statement, scope)

    def _statement(self, node: ast.stmt, scope: Scope) -> None:
        reader = getattr(self, f"_read_{type(node).__name__}", None)
        if reader is not None:
            reader(node, scope)
            return
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.evaluate(child, scope)

    def _read_Import(self, node: ast.Import, scope: Scope) -> None:  # noqa: N802 - the node's name
        for name in node.names:
            top = name.name.partition(".")[0]
            self.uses.imports.append((top, node.lineno, id(node)))
            if top in _LIBRARIES or top == "boto3":
                scope.names[name.asname or top] = frozenset({Module(name.name if name.asname else top)})

    def _read_ImportFrom(self, node: ast.ImportFrom, scope: Scope) -> None:  # noqa: N802
        if node.level or node.module is None:
            return
        top = node.module.partition(".")[0]
        self.uses.imports.append((top, node.lineno, id(node)))
        for name in node.names:
            if top == "pyspark":
                scope.names[name.asname or name.name] = frozenset({Name("pyspark", name.name)})
            elif top == "boto3":
                scope.names[name.asname or name.name] = frozenset({Name("boto3", name.name)})
            elif top in _LIBRARIES and name.name == "*":
                scope.names |= {
                    row.name: frozenset({Name(row.module, row.name)})
                    for row in ROWS
                    if row.module == node.module and not row.owner and not row.elsewhere
                }
            elif top in _LIBRARIES:
                scope.names[name.asname or name.name] = self.member(node.module, name.name)

    def _read_Assign(self, node: ast.Assign, scope: Scope) -> None:  # noqa: N802
        values = self.evaluate(node.value, scope)
        for target in node.targets:
            self._bind(target, values, scope, node.value)

    def _read_AnnAssign(self, node: ast.AnnAssign, scope: Scope) -> None:  # noqa: N802
        values = self.evaluate(node.value, scope) if node.value is not None else frozenset()
        self._bind(node.target, values or _annotated(node.annotation), scope, node.value)

    def _bind(self, target: ast.expr, values: Values, scope: Scope, value: ast.expr | None = None) -> None:
        if isinstance(target, ast.Name):
            scope.names[target.id] = values
            scope.nodes[target.id] = value
        elif isinstance(target, ast.Attribute):
            self.evaluate(target.value, scope)
            # Attributes of objects are kept by their names alone: scripts have few classes.
            self.attributes[target.attr] = self.attributes.get(target.attr, frozenset()) | values
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
            for number, elt in enumerate(target.elts):
                element = self.evaluate(parts[number], scope) if len(parts) == len(target.elts) else frozenset()
                self._bind(elt, element, scope)

    def _read_FunctionDef(self, node: ast.FunctionDef, scope: Scope) -> None:  # noqa: N802
        for default in (*node.decorator_list, *node.args.defaults):
            self.evaluate(default, scope)
        self._functions.append((node, scope))
        scope.names[node.name] = frozenset({Function(len(self._functions) - 1)})

    _read_AsyncFunctionDef = _read_FunctionDef  # noqa: N815

    def _read_ClassDef(self, node: ast.ClassDef, scope: Scope) -> None:  # noqa: N802
        for base in node.bases:
            self.evaluate(base, scope)
        inner = Scope(scope)
        self.statements(node.body, inner)
        for name, values in inner.names.items():
            if any(isinstance(value, Function) for value in values):
                self.attributes[name] = self.attributes.get(name, frozenset()) | values

    def _read_Return(self, node: ast.Return, scope: Scope) -> None:  # noqa: N802
        values = self.evaluate(node.value, scope) if node.value is not None else frozenset()
        if self._returned:
            self._returned[-1] |= values

    def _read_If(self, node: ast.If, scope: Scope) -> None:  # noqa: N802
        self.evaluate(node.test, scope)
        self._either(scope, node.body, node.orelse)

    def _read_For(self, node: ast.For, scope: Scope) -> None:  # noqa: N802
        self.evaluate(node.iter, scope)
        self._bind(node.target, frozenset(), scope)
        self._repeat(scope, node.body)
        self.statements(node.orelse, scope)

    _read_AsyncFor = _read_For  # noqa: N815

    def _read_While(self, node: ast.While, scope: Scope) -> None:  # noqa: N802
        self.evaluate(node.test, scope)
        self._repeat(scope, node.body)

    def _read_Try(self, node: ast.Try, scope: Scope) -> None:  # noqa: N802
        self._either(scope, node.body, [])
        for handler in node.handlers:
            self._either(scope, handler.body, [])
        self.statements(node.orelse, scope)
        self.statements(node.finalbody, scope)

    def _read_With(self, node: ast.With, scope: Scope) -> None:  # noqa: N802
        for manager in node.items:
            values = self.evaluate(manager.context_expr, scope)
            if manager.optional_vars is not None:
                self._bind(manager.optional_vars, values, scope)
        self.statements(node.body, scope)

    _read_AsyncWith = _read_With  # noqa: N815

    def _read_Match(self, node: ast.Match, scope: Scope) -> None:  # noqa: N802
        self.evaluate(node.subject, scope)
        for case in node.cases:
            self._either(scope, case.body, [])

    def _repeat(self, scope: Scope, body: Sequence[ast.stmt]) -> None:
        """Read a loop's body twice, because its end comes before its start; inner loops of inner loops once."""
        self._loops += 1
        self._either(scope, [*body, *body] if self._loops <= _TWICE else body, [])
        self._loops -= 1

    def _either(self, scope: Scope, one: Sequence[ast.stmt], other: Sequence[ast.stmt]) -> None:
        """Read two branches from the same state, and join what names are after them."""
        before = dict(scope.names)
        self.statements(one, scope)
        after, scope.names = scope.names, before
        self.statements(other, scope)
        for name, values in after.items():
            scope.names[name] = scope.names.get(name, values) | values


def _annotated(annotation: ast.expr | None) -> Values:
    if annotation is None:
        return frozenset()
    name = ast.unparse(annotation).strip("'\"").rpartition(".")[2]
    return frozenset({Instance(name)}) if name in _ANNOTATIONS else frozenset()

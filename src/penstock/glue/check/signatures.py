"""The classes that serve Glue's library, as their source has them: parameters, results and attributes, without Spark.

The classes import pyspark, which a check may lack, so that their source is parsed and not imported. AWS's names lead to
them: ``awsglue`` and its siblings, which import them, are beside Penstock.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import penstock

__all__ = ["ServedClass", "Signature", "served_class"]

_SOURCES = Path(penstock.__file__).parent.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The parameters of a method that can be given by position, without ``self``, and the name of the class it returns.

    ``takes_options`` says that further keywords are options: ``**options``. ``returns`` is "" for other results.
    """

    parameters: tuple[str, ...] = ()
    takes_options: bool = False
    returns: str = ""


@dataclass(frozen=True, slots=True)
class ServedClass:
    """A class with its bases: methods, and the classes of the attributes that its constructor sets."""

    methods: Mapping[str, Signature] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)


@cache
def served_class(module: str, name: str) -> ServedClass:
    """Return the class that ``module`` has under ``name``; an empty one if there is none in Penstock's sources."""
    tree = _tree(module)
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef) and statement.name == name:
            return _read(statement, module)
        if isinstance(statement, ast.ImportFrom) and statement.module:
            for alias in statement.names:
                if (alias.asname or alias.name) == name:
                    return served_class(statement.module, alias.name)
    return ServedClass()


@cache
def _tree(module: str) -> ast.Module:
    path = _SOURCES / Path(*module.split("."))
    file = path.with_suffix(".py") if path.with_suffix(".py").is_file() else path / "__init__.py"
    return ast.parse(file.read_bytes()) if file.is_file() else ast.Module([], [])


def _read(node: ast.ClassDef, module: str) -> ServedClass:
    methods: dict[str, Signature] = {}
    attributes: dict[str, str] = {}
    for base in reversed(node.bases):
        if isinstance(base, ast.Name):
            inherited = served_class(module, base.id)
            methods |= inherited.methods
            attributes |= inherited.attributes
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef):
            methods[statement.name] = _signature(statement)
            if statement.name == "__init__":
                attributes |= _attributes(statement)
        # A second name of a method.
        elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name):
            method = methods.get(statement.value.id)
            methods |= {target.id: method for target in statement.targets if isinstance(target, ast.Name) and method}
    return ServedClass(methods, attributes)


def _signature(node: ast.FunctionDef) -> Signature:
    static = any(isinstance(decorator, ast.Name) and decorator.id == "staticmethod" for decorator in node.decorator_list)
    parameters = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
    return Signature(
        parameters=tuple(parameters if static else parameters[1:]),
        takes_options=node.args.kwarg is not None and node.args.kwarg.arg == "options",
        returns=_class_name(node.returns),
    )


def _attributes(constructor: ast.FunctionDef) -> dict[str, str]:
    """Return the classes of attributes that are annotated, or set to a new object: ``self.x: T = …``, ``self.x = T(…)``."""
    classes: dict[str, str] = {}
    for statement in constructor.body:
        match statement:
            case ast.AnnAssign(target=ast.Attribute(attr=name), annotation=annotation):
                classes[name] = _class_name(annotation)
            case ast.Assign(targets=[ast.Attribute(attr=name)], value=ast.Call(func=ast.Name(id=made))):
                classes[name] = made
    return classes


def _class_name(annotation: ast.expr | None) -> str:
    match annotation:
        case ast.Name(id=name) | ast.Constant(value=str(name)):
            return name
    return ""

"""What a value of a script can be, as far as its uses of Glue's library depend on it.

A value is a set of these; an empty set means that it can be anything.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.glue.check.signatures import ServedClass, served_class

__all__ = [
    "CLASSES",
    "FRAME",
    "TRANSFORM",
    "Entries",
    "Function",
    "Instance",
    "Method",
    "Module",
    "Name",
    "Text",
    "Value",
    "Values",
    "class_of",
    "result_of",
]

TRANSFORM = "Transform:"
"""Begins the owner of an object of a transform's class: ``Transform:Join``."""


@dataclass(frozen=True, slots=True)
class Module:
    """A module of Glue's library, or boto3."""

    name: str


@dataclass(frozen=True, slots=True)
class Name:
    """A name of a module: a class, a transform or a function."""

    module: str
    name: str


@dataclass(frozen=True, slots=True)
class Instance:
    """An object of a class of Glue's or of Spark's."""

    owner: str


@dataclass(frozen=True, slots=True)
class Method:
    """A method of an object of a class of Glue's or Spark's."""

    owner: str
    name: str


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the script, by its number."""

    number: int


@dataclass(frozen=True, slots=True)
class Text:
    """A literal text."""

    text: str


@dataclass(frozen=True, slots=True)
class Entries:
    """A literal dictionary: its keys that are texts, each with its value as text (None: it is computed) and its line.

    It is ``literal`` where it is written; under a name it may have been changed since.
    """

    items: tuple[tuple[str, str | None, int], ...]
    literal: bool = True


Value = Module | Name | Instance | Method | Function | Text | Entries
Values = frozenset[Value]

CLASSES: Mapping[str, str] = {
    "GlueContext": "awsglue.context",
    "DynamicFrame": "awsglue.dynamicframe",
    "DynamicFrameCollection": "awsglue.dynamicframe",
    "DynamicFrameReader": "awsglue.dynamicframe",
    "DynamicFrameWriter": "awsglue.dynamicframe",
    "Job": "awsglue.job",
    "DataSink": "awsglue.data_sink",
    "DataSource": "awsglue.data_source",
}
"""The modules of the classes whose objects are distinguished."""

FRAME = Instance("DynamicFrame")
_DATA = Instance("DataFrame")
_RESULTS = frozenset({*CLASSES, "DataFrame"})
"""The classes of results that a script's later uses depend on."""

_TRANSFORMS = ("awsglue.transforms", "awsgluedq.transforms", "awsglueml.transforms")
# Spark's own, which a GlueContext has, too.
_SPARK_RETURNS = {"sql": _DATA, "table": _DATA, "createDataFrame": _DATA}


def class_of(owner: str) -> ServedClass:
    """Return the class that serves ``owner``, an :class:`Instance`'s; it is empty for Spark's and unknown ones."""
    if owner.startswith(TRANSFORM):
        classes = (served_class(module, owner.removeprefix(TRANSFORM)) for module in _TRANSFORMS)
        return next((class_ for class_ in classes if class_.methods), ServedClass())
    return served_class(CLASSES[owner], owner) if owner in CLASSES else ServedClass()


def result_of(owner: str, name: str) -> Instance | None:
    """Return what a method returns, None for what nothing depends on."""
    if owner == "DynamicFrame" and name.startswith("gs_"):
        return FRAME  # Glue Studio's transforms are methods once a script imports their modules
    if owner.startswith(TRANSFORM) and name == "apply":
        name = "__call__"
    signature = class_of(owner).methods.get(name)
    if signature is None:
        return _SPARK_RETURNS.get(name) if owner in {"GlueContext", "SparkSession"} else None
    return Instance(signature.returns) if signature.returns in _RESULTS else None

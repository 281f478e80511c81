"""The uses that the reading of a script finds, before they are evaluated."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock.glue.check.values import Text, Values

__all__ = ["Call", "Use", "Uses"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """A name of Glue's library at a node of the script. ``certain`` if the object cannot be anything else."""

    module: str
    owner: str
    name: str
    line: int
    node: int
    certain: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of a method of GlueContext, or of boto3, with the values of its arguments by name.

    Where a method takes options as keywords, they are the argument ``options``.
    """

    name: str
    line: int
    node: int
    arguments: Mapping[str, Values]

    def text(self, name: str) -> str | None:
        """Return an argument that can only be one text."""
        values = [text.text if isinstance(text, Text) else None for text in self.arguments.get(name, ())]
        return values[0] if len(values) == 1 else None


@dataclass(slots=True)
class Uses:
    """Everything that was found, each once a node."""

    names: dict[tuple[int, str, str, str], Use] = field(default_factory=dict)
    calls: dict[int, Call] = field(default_factory=dict)
    imports: list[tuple[str, int, int]] = field(default_factory=list)
    """Top-level packages with their lines and nodes."""
    arguments: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Arguments of the job, each with the line and node of getResolvedOptions."""
    texts: list[tuple[str, int, int]] = field(default_factory=list)
    """Formats of Spark's readers and writers: ``format("delta")``."""
    entities: list[tuple[Sequence[str], int, int]] = field(default_factory=list)
    """Types of entities that are to be detected, with the line and node of the call."""
    hudi: list[tuple[int, int]] = field(default_factory=list)
    """Texts that name Hudi, with their lines and nodes."""
    jvm: dict[int, tuple[str, int]] = field(default_factory=dict)
    """Chains of attributes of the JVM, by node, with their lines."""

    def use(self, node: ast.AST, module: str, owner: str, name: str, *, certain: bool = True) -> None:
        """Add a use of a name."""
        line = getattr(node, "end_lineno" if isinstance(node, ast.Attribute) else "lineno", 0)
        key = (id(node), module, owner, name)
        before = self.names.get(key)
        certain = certain and (before is None or before.certain)
        self.names[key] = Use(module=module, owner=owner, name=name, line=line, node=id(node), certain=certain)

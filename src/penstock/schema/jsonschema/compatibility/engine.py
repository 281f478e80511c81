"""The walk over two JSON Schemas: questions about pairs of schemas, each asked once, on an explicit stack.

A rule is a generator that yields the questions it depends on and receives their findings; no findings means that the claim
holds. A pair that is met again while it is open, one or more steps deeper in the value, counts as readable, since values are
finite. If that guess proves wrong, the walk runs again with that knowledge, so that the result does not depend on its order.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from penstock.schema import cpu_budget
from penstock.schema.errors import TooComplex
from penstock.schema.incompatibility import Incompatibility
from penstock.schema.jsonschema.compatibility.facts import Facts, gather
from penstock.schema.jsonschema.compatibility.identity import Identity
from penstock.schema.jsonschema.document import Document
from penstock.schema.jsonschema.model import TRUE, Node, constant, negation, of_types, presence
from penstock.schema.rules import JsonRules

__all__ = ["MAX_FINDINGS", "Ask", "Comparison", "Findings", "Rule"]

MAX_FINDINGS = 1_000
_MAX_STEPS = 15_000  # of 15 to 30 microseconds
_MAX_WORK = 120_000  # of 2 to 4 microseconds

Findings = tuple[Incompatibility, ...]
Claim = Literal["covers", "part", "empty"]


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """One question.

    covers: does ``node`` accept all values that all of ``nodes`` accept? part: the same for the keywords of ``node`` itself,
    without ``$ref`` and ``allOf``. empty: is there no value that all of ``nodes`` accept? ``inside`` is true for a property,
    an item or a property name of the previous question's value.
    """

    claim: Claim
    node: Node
    nodes: tuple[Node, ...]
    path: str = ""
    inside: bool = False


Rule = Generator[Ask, Findings, list[Incompatibility]]
_Key = tuple[Claim, int, frozenset[int], bool]


@dataclass(slots=True, eq=False)
class Comparison:
    """One comparison. Its results for pairs are kept from one run to the next, and so are the nodes that it makes.

    ``strict`` is true during an ``empty`` question and the questions that it depends on: there, types that are only implied
    by keywords do not count.
    """

    rules: JsonRules
    identity: Identity
    writer: Document
    answer: Callable[["Comparison", Ask], Rule]
    broken: dict[_Key, Findings] = field(default_factory=dict)
    sound: set[_Key] = field(default_factory=set)
    guessed: set[_Key] = field(default_factory=set)
    guessed_wrong: bool = False
    strict: bool = False
    facts_by_nodes: dict[tuple[frozenset[int], bool], Facts] = field(default_factory=dict)
    constants: dict[str, Node] = field(default_factory=dict)
    nodes: dict[tuple[str, object], Node] = field(default_factory=dict)
    choices: dict[tuple[int, str], tuple[str, ...] | None] = field(default_factory=dict)
    steps: int = 0
    work: int = 0

    def run(self, question: Ask) -> Findings:
        """Return the findings of ``question``."""
        while True:
            self.sound.clear()
            self.guessed.clear()
            self.guessed_wrong = False
            findings = self._walk(question)
            if not self.guessed_wrong:
                return findings

    @property
    def pressed(self) -> bool:
        """Whether so much work is done already that the comparison stops at the first finding."""
        return self.steps > _MAX_STEPS // 5 or self.work > _MAX_WORK // 5

    @property
    def keywords_alone(self) -> bool:
        """Whether the rules compare some keywords by themselves: never where schemas are proven to accept no value."""
        return self.rules.keywords_alone and not self.strict

    def facts(self, nodes: Sequence[Node]) -> Facts:
        """Return the facts of a value that all ``nodes`` accept."""
        implied = self.rules.keywords_imply_type and not self.strict
        key = (frozenset(map(id, nodes)), implied)
        if key not in self.facts_by_nodes:
            facts = gather(nodes, self.constants, constant, implied=self.writer if implied else None)
            self.spend(5 + sum(_size(part) for part in facts.nodes))
            self.facts_by_nodes[key] = facts
        return self.facts_by_nodes[key]

    def spend(self, amount: int) -> None:
        """Count work beside the steps of the walk."""
        self.work += amount
        if self.work > _MAX_WORK:
            raise _too_complex()

    def choice(self, node: Node, keyword: str) -> tuple[str, ...] | None:
        """Return the sorted marks of the alternatives under ``keyword``, or None if one has no mark."""
        key = (id(node), keyword)
        if key not in self.choices:
            marks = [self.identity.mark(branch) for branch in node.several(keyword)]
            present = [mark for mark in marks if mark is not None]
            self.choices[key] = tuple(sorted(present)) if len(present) == len(marks) else None
        return self.choices[key]

    def constant(self, value: object, key: str) -> Node:
        """Return the schema of ``value`` alone."""
        if key not in self.constants:
            self.constants[key] = constant(value)
        return self.constants[key]

    def negation(self, node: Node) -> Node:
        """Return the schema of what ``node`` does not accept."""
        return self._make(("not", id(node)), lambda: negation(node))

    def of_types(self, types: frozenset[str]) -> Node:
        """Return the schema of all values of ``types``."""
        return self._make(("type", types), lambda: of_types(types))

    def presence(self, name: str) -> Node:
        """Return the schema that requires a property."""
        return self._make(("required", name), lambda: presence(name))

    def _make(self, key: tuple[str, object], make: Callable[[], Node]) -> Node:
        if key not in self.nodes:
            self.nodes[key] = make()
        return self.nodes[key]

    def _walk(self, question: Ask) -> Findings:
        stack: list[tuple[Rule, _Key, int]] = []
        open_at: dict[_Key, int] = {}
        answer: Findings | None = None
        pending: Ask | None = question
        while pending is not None or stack:
            if pending is not None:
                cpu_budget.check()
                self.steps += 1
                self.spend(len(pending.nodes))
                if self.steps > _MAX_STEPS:
                    raise _too_complex()
                strict = pending.claim == "empty" or (bool(stack) and stack[-1][1][3])
                key = (pending.claim, id(pending.node), frozenset(map(id, pending.nodes)), strict)
                depth = (stack[-1][2] if stack else 0) + pending.inside
                answer = self._earlier(key, pending, open_at, depth)
                if answer is None:
                    open_at[key] = depth
                    stack.append((self.answer(self, pending), key, depth))
                pending = None
            else:
                rule, key, _ = stack[-1]
                self.strict = key[3]
                try:
                    pending = rule.send(answer) if answer is not None else next(rule)
                    answer = None
                except StopIteration as done:
                    stack.pop()
                    del open_at[key]
                    answer = tuple(done.value[:MAX_FINDINGS])
                    self._settle(key, answer)
        return answer or ()

    def _earlier(self, key: _Key, ask: Ask, open_at: dict[_Key, int], depth: int) -> Findings | None:
        if key in self.broken:
            return self.broken[key]
        if key in open_at:
            if ask.claim == "empty" or open_at[key] >= depth:
                return (_UNDECIDED,)
            self.guessed.add(key)
            return ()
        if key in self.sound or (ask.claim == "covers" and self._is_plain(ask)):
            return ()
        return None

    def _is_plain(self, ask: Ask) -> bool:
        """Return whether the claim holds trivially: the writer has the same schema, or the reader accepts anything."""
        return ask.node is TRUE or any(self.identity.same(ask.node, node) for node in ask.nodes)

    def _settle(self, key: _Key, findings: Findings) -> None:
        if findings:
            self.broken[key] = findings
            self.guessed_wrong |= key in self.guessed
        else:
            self.sound.add(key)


_UNDECIDED = Incompatibility(
    path="",
    rule="COMBINED_TYPE_SUBSCHEMAS_CHANGED",
    reader="a schema that refers to itself",
    writer="a schema that refers to itself",
    message="the comparison of these schemas depends on its own result. Keep the combination as it was.",
)


def _size(part: Node) -> int:
    """Return the amount of work to gather the facts of a schema."""
    return 4 + len(part.properties) + len(part.several("anyOf")) + len(part.several("oneOf")) + len(part.values or ())


def _too_complex() -> TooComplex:
    return TooComplex(
        "The two schemas are too large to compare: too many combinations of their parts.",
        remedy="Split the schema, or shorten its oneOf, anyOf and enum lists.",
    )

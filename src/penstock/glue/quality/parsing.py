"""DQDL's parser: a document to rules, without Spark. What is wrong, or not served, is named with line and column."""

import difflib
import re
from collections.abc import Callable, Sequence
from typing import Literal, TypeVar, cast

from penstock.glue.quality.rule_types import ANALYZERS, RULE_TYPES, RuleType
from penstock.glue.quality.rulesets import (
    Analyzer,
    Call,
    Composite,
    Condition,
    Duration,
    Expression,
    Keyword,
    Moment,
    Number,
    Operand,
    Operation,
    Rule,
    Ruleset,
    RulesetError,
    Text,
)
from penstock.glue.quality.tokens import Token, tokens, written

__all__ = ["parse"]

_MAX_DEPTH = 20
_MAX_OPERATIONS = 50  # of a rule
_MAX_RULES = 2_000  # AWS's limit for the rules of a ruleset
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_HOURS = {"days": 24.0, "day": 24.0, "hours": 1.0, "hour": 1.0, "minutes": 1 / 60, "minute": 1 / 60}
_KEYWORDS = {item for name in ("NULL", "EMPTY", "WHITESPACES_ONLY") for item in (name, name.lower())}
_SIGNS = ("=", "!=", ">=", "<=", ">", "<")
_ENDS = {"where", "with", "not", "between", "in", "matches"}
_T = TypeVar("_T")


def parse(source: str) -> Ruleset:
    """Return the ruleset that ``source`` spells. Raises :class:`RulesetError`."""
    return _Parser(tokens(source)).document()


class _Parser:
    def __init__(self, parts: Sequence[Token]) -> None:
        self._parts = parts
        self._at = 0
        self._count = 0
        self._operations = 0

    # The document

    def document(self) -> Ruleset:
        rules: Sequence[Rule | Composite] | None = None
        analyzers: Sequence[Analyzer] = ()
        while self._next.type != "end":
            name = self._take("word", "'Rules'")
            self._expect("=")
            if name.raw == "Rules" and rules is None:
                rules = self._listed(lambda: self._top(0))
            elif name.raw == "Analyzers":
                analyzers = self._listed(self._analyzer)
            elif name.raw in {"Metadata", "Sources", "DataSources"}:
                self._dictionary(0)
            else:
                raise self._error(f"'{name.raw}' is not a section", name, "Sections are Rules, Analyzers and DataSources.")
            self._accept(",")
        if rules is None and not analyzers:
            raise self._error("a list of rules is expected", remedy='Write Rules = [ IsComplete "column" ].')
        return Ruleset(rules or (), analyzers)

    def _dictionary(self, depth: int) -> None:
        """Skip ``{"name": "value"}``: the script names the frames, not the ruleset."""
        self._deeper(depth)
        opened = self._take("sign", "'{'").raw
        closing = {"{": "}", "[": "]"}.get(opened)
        if closing is None:
            raise self._error("'{' is expected", self._parts[self._at - 1])
        while not self._accept(closing):
            if self._next.raw in {"{", "["}:
                self._dictionary(depth + 1)
            elif self._next.type == "end":
                raise self._error(f"'{closing}' is expected")
            else:
                self._at += 1

    def _listed(self, read: Callable[[], _T]) -> tuple[_T, ...]:
        self._expect("[")
        items: list[_T] = []
        while not self._accept("]"):
            if items:
                self._expect(",", "',' or ']'")
                if self._accept("]"):
                    break
            items.append(read())
        return tuple(items)

    # Rules

    def _top(self, depth: int) -> Rule | Composite:
        """Read a rule, or rules in parentheses with ``and`` or ``or`` between them."""
        self._deeper(depth)
        if self._next.raw != "(":
            return self._rule()
        rules: list[Rule | Composite] = []
        operator: str | None = None
        while True:
            self._expect("(")
            rules.append(self._top(depth + 1))
            self._expect(")")
            word = self._next.raw.upper()
            if word not in {"AND", "OR"}:
                break
            if operator not in {None, word}:
                raise self._error("'and' and 'or' are mixed", remedy="Put the rules of one of them in parentheses.")
            operator = word
            self._at += 1
        if operator is None:
            return rules[0]
        text = f" {operator} ".join(f"({rule.text})" for rule in rules)
        return Composite(operator=cast(Literal["AND", "OR"], operator), rules=tuple(rules), text=text)

    def _rule(self) -> Rule:
        self._count += 1
        self._operations = 0
        if self._count > _MAX_RULES:
            raise self._error(f"there are more than {_MAX_RULES} rules")
        first, begin = self._next, self._at
        rule_type = self._type()
        parameters = self._parameters()
        subject = written(self._parts[begin : self._at])
        condition = self._condition(0) if self._at_condition() else None
        threshold: Condition | None = None
        where: str | None = None
        tags: list[tuple[str, str]] = []
        while self._next.raw in {"with", "where"}:
            if self._accept("where"):
                where = self._take("text", "the text of the condition").value
                continue
            self._expect("with")
            if self._accept("threshold"):
                threshold = self._condition(0)
                if threshold.operand_type != "number":
                    raise self._error("a threshold is a number", first)
            else:
                tag = self._take("text", "'threshold'").value
                self._expect("=")
                tags.append((tag, self._take("text", "a text").value))
        rule = Rule(
            type=rule_type.name,
            parameters=parameters,
            condition=condition,
            threshold=threshold,
            where=where,
            tags=tuple(tags),
            subject=subject,
            text=written(self._parts[begin : self._at]),
            line=first.line,
            column=first.column,
        )
        self._check(rule, rule_type, first)
        return rule

    def _type(self) -> RuleType:
        token = self._take("word", "a rule type")
        rule_type = RULE_TYPES.get(token.raw)
        if rule_type is None:
            near = difflib.get_close_matches(token.raw, RULE_TYPES, 1)
            raise self._error(f"'{token.raw[:60]}' is not a rule type", token, f"Is {near[0]} meant?" if near else None)
        if rule_type.refused:
            raise self._error(f"{rule_type.name} is not supported: {rule_type.refused}", token, rule_type.remedy)
        return rule_type

    def _parameters(self) -> tuple[str, ...]:
        """Read ``"a" "b"``, ``of a and "b"``: a column's name can be without quotes behind ``of``."""
        parameters: list[str] = []
        self._accept("of")
        while self._next.type == "text" or (self._next.type == "word" and self._next.raw.lower() not in {*_ENDS, "or"}):
            if self._next.raw.lower() == "and":
                if not parameters or self._parts[self._at + 1].type not in {"text", "word"}:
                    break
                self._at += 1
            parameters.append(self._next.value)
            self._at += 1
        return tuple(parameters)

    def _check(self, rule: Rule, rule_type: RuleType, first: Token) -> None:
        least, most = rule_type.parameters
        if not least <= len(rule.parameters) <= most:
            count = str(least) if least == most else f"{least} to {most}"
            raise self._error(f"{rule_type.name} takes {count} parameters, not {len(rule.parameters)}", first)
        if rule.condition is None:
            if rule_type.conditions and not rule_type.optional:
                raise self._error(f"{rule_type.name} needs a condition", first, f"Write {rule.text} > 0.")
        elif not rule_type.conditions:
            raise self._error(f"{rule_type.name} takes no condition", first)
        elif rule.condition.operand_type not in rule_type.conditions:
            raise self._error(f"{rule_type.name} is not compared with a {rule.condition.operand_type}", first)
        if rule.threshold is not None and not rule_type.threshold:
            raise self._error(f"{rule_type.name} takes no threshold", first)
        if rule.where is not None and not rule_type.where:
            raise self._error(f"{rule_type.name} takes no where clause", first)
        if rule.tags and (rule_type.name != "ColumnDataType" or any(name != "format" for name, _ in rule.tags)):
            raise self._error(f'{rule_type.name} takes no with "{rule.tags[0][0][:60]}"', first)

    def _analyzer(self) -> Analyzer:
        first, begin = self._next, self._at
        token = self._take("word", "an analyzer")
        if token.raw not in ANALYZERS:
            remedy = f"Analyzers are {', '.join(sorted(ANALYZERS))}."
            raise self._error(f"'{token.raw[:60]}' is not an analyzer that is supported", token, remedy)
        parameters = self._parameters()
        least, most = RULE_TYPES[token.raw].parameters
        if not least <= len(parameters) <= most:
            raise self._error(f"{token.raw} takes {least} parameters, not {len(parameters)}", first)
        text = written(self._parts[begin : self._at])
        return Analyzer(type=token.raw, parameters=parameters, text=text, line=first.line, column=first.column)

    # Conditions

    def _at_condition(self) -> bool:
        return self._next.raw in {*_SIGNS, "not", "between", "in", "matches"}

    def _condition(self, depth: int) -> Condition:
        negated = self._accept("not")
        token = self._next
        if self._accept("between"):
            low = self._operand(depth)
            if not self._accept("AND"):
                self._expect("and")
            return Condition("between", (low, self._operand(depth)), negated)
        if self._accept("in"):
            items = self._listed(lambda: self._operand(depth))
            if not items:
                raise self._error("a list of values is expected", token)
            return Condition("in", items, negated)
        if self._accept("matches"):
            return Condition("matches", (Text(self._take("text", "a regular expression").value),), negated)
        for sign in () if negated else _SIGNS:
            if self._accept(sign):
                return Condition(cast(Literal["="], sign), (self._operand(depth),))
        raise self._error("a condition is expected", token, "Write >, >=, <, <=, =, !=, between, in or matches.")

    def _operand(self, depth: int) -> Operand:
        token = self._next
        if token.type == "text":
            self._at += 1
            return Moment(token.value) if _DATE.fullmatch(token.value) else Text(token.value)
        if token.raw in _KEYWORDS:
            self._at += 1
            return Keyword(token.raw.upper())
        if token.raw == "now" or (token.raw == "(" and self._parts[self._at + 1].raw == "now"):
            return self._moment()
        operand = self._sum(depth)
        unit = _HOURS.get(self._next.raw)
        if unit is not None and isinstance(operand, Number):
            self._at += 1
            return Duration(operand.value * unit)
        return operand

    def _moment(self) -> Moment:
        if not self._accept("("):
            self._now()
            return Moment()
        self._now()
        hours = 0.0
        if self._next.raw in {"-", "+"}:
            sign = -1 if self._next.raw == "-" else 1
            self._at += 1
            amount = float(self._take("number", "a number").raw)
            unit = self._take("word", "days, hours or minutes")
            if unit.raw not in _HOURS:
                raise self._error("days, hours or minutes are expected", unit)
            hours = sign * amount * _HOURS[unit.raw]
        self._expect(")")
        return Moment(None, hours)

    def _now(self) -> None:
        for part in ("now", "(", ")"):
            self._expect(part)

    # Numbers

    def _sum(self, depth: int) -> Expression:
        return self._chain(("+", "-"), lambda: self._chain(("*", "/"), lambda: self._atom(depth)))

    def _chain(self, signs: tuple[str, str], read: Callable[[], Expression]) -> Expression:
        result = read()
        while self._next.raw in signs:
            self._operations += 1
            if self._operations > _MAX_OPERATIONS:
                raise self._error(f"a rule has more than {_MAX_OPERATIONS} operations")
            sign = self._next.raw
            self._at += 1
            result = Operation(sign, result, read())
        return result

    def _atom(self, depth: int) -> Expression:
        self._deeper(depth)
        if self._accept("("):
            result = self._sum(depth + 1)
            self._expect(")")
            return result
        if self._accept("-"):
            inner = self._atom(depth + 1)
            return Number(-inner.value) if isinstance(inner, Number) else Operation("*", Number(-1.0), inner)
        token = self._next
        if token.type == "word" and self._parts[self._at + 1].raw == "(":
            self._at += 2
            arguments: list[Expression] = []
            while not self._accept(")"):
                if arguments:
                    self._expect(",")
                arguments.append(self._sum(depth + 1))
            return Call(token.raw, tuple(arguments))
        return Number(float(self._take("number", "a value").raw))

    # Tokens

    @property
    def _next(self) -> Token:
        return self._parts[self._at]

    def _accept(self, raw: str) -> bool:
        if self._next.raw != raw or self._next.type == "text":
            return False
        self._at += 1
        return True

    def _expect(self, raw: str, shown: str | None = None) -> None:
        if not self._accept(raw):
            raise self._error(f"{shown or repr(raw)} is expected, not {self._shown()}")

    def _take(self, token_type: str, shown: str) -> Token:
        token = self._next
        if token.type != token_type:
            raise self._error(f"{shown} is expected, not {self._shown()}")
        self._at += 1
        return token

    def _shown(self) -> str:
        return self._next.raw if self._next.type == "end" else f"'{self._next.raw[:60]}'"

    def _deeper(self, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise self._error(f"parentheses nest deeper than {_MAX_DEPTH} levels")

    def _error(self, message: str, token: Token | None = None, remedy: str | None = None) -> RulesetError:
        at = token or self._next
        return RulesetError(f"{message}.", at.line, at.column, remedy=remedy)

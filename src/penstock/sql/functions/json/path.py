"""The SQL standard's JSON path language, as json_value, json_query and json_exists use it.

Source: Trino's documentation, "JSON path language". Its variables are the values of PASSING.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation, localcontext
from functools import lru_cache
from typing import Any

from penstock.sql.functions.json_documents import Number
from penstock.sql.functions.python import invalid

__all__ = ["PathError", "evaluate", "variables_of"]

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<string>"(?:[^"\\]|\\.)*")|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"""
    r"""|(?P<sign>\.\.|&&|\|\||==|!=|<>|<=|>=|[-+*/%$@.,()\[\]?!<>]))"""
)
_MAX_ITEMS = 100_000
_METHODS = ("abs", "ceiling", "double", "floor", "keyvalue", "size", "type")


class PathError(ValueError):
    """The path cannot be evaluated over the document (a structural error in strict mode, or wrong types)."""


@dataclass(frozen=True, slots=True)
class _Context:
    root: Any
    lax: bool
    item: Any = None
    last: int = 0
    variables: Mapping[str, list[Any]] = field(default_factory=dict)


_Step = Callable[[_Context], list[Any]]
_Test = Callable[[_Context], bool | None]  # None is unknown


def evaluate(document: Any, path: str, variables: Mapping[str, list[Any]] | None = None) -> list[Any]:
    """Return the items that ``path`` finds; ``variables`` are the items of each variable beside ``$``.

    Raises :class:`PathError`, and the error of an argument for a wrong path.
    """
    lax, step, _ = _compiled(path)
    return step(_Context(document, lax, variables=variables or {}))


def variables_of(path: str) -> Sequence[str]:
    """Return the names of the variables in ``path``. Raises the error of an argument for a wrong path."""
    return _compiled(path)[2]


@lru_cache(maxsize=256)
def _compiled(path: str) -> tuple[bool, _Step, Sequence[str]]:
    mode = re.match(r"\s*(lax|strict)\b", path)
    if mode is None:
        raise invalid(f"Invalid JSON path: '{path[:200]}': it begins with lax or strict")
    reader = _Reader(path, mode.end())
    return mode[1] == "lax", reader.whole(), reader.variables


class _Reader:
    """A recursive descent over the path's tokens, to functions of a context."""

    def __init__(self, path: str, at: int) -> None:
        self._path = path
        self.variables: list[str] = []
        self._tokens: list[tuple[str, str]] = []
        while at < len(path.rstrip()):
            token = _TOKEN.match(path, at)
            if token is None:
                raise self._error()
            type_ = str(token.lastgroup)
            self._tokens.append((type_, token[type_]))
            at = token.end()
        self._at = 0

    def whole(self) -> _Step:
        result = self._sum()
        if self._at != len(self._tokens):
            raise self._error()
        return result

    def _error(self) -> ValueError:
        return invalid(f"Invalid JSON path: '{self._path[:200]}'")

    def _peek(self, ahead: int = 0) -> tuple[str, str]:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else ("end", "")

    def _accept(self, *texts: str) -> str | None:
        type_, text = self._peek()
        if type_ in {"sign", "name"} and text in texts:
            self._at += 1
            return text
        return None

    def _expect(self, text: str) -> None:
        if self._accept(text) is None:
            raise self._error()

    def _sum(self) -> _Step:
        result = self._product()
        while (sign := self._accept("+", "-")) is not None:
            result = _binary(sign, result, self._product())
        return result

    def _product(self) -> _Step:
        result = self._signed()
        while (sign := self._accept("*", "/", "%")) is not None:
            result = _binary(sign, result, self._signed())
        return result

    def _signed(self) -> _Step:
        sign = self._accept("+", "-")
        if sign is None:
            return self._accessed()
        inner = self._signed()
        return lambda context: [_number(item) * (-1 if sign == "-" else 1) for item in _unwrapped(inner(context), context)]

    def _accessed(self) -> _Step:
        step = self._primary()
        while True:
            if self._accept(".."):
                step = _descendants(step, self._key())
            elif self._accept("."):
                step = self._member(step)
            elif self._accept("["):
                step = self._subscripts(step)
            elif self._accept("?"):
                self._expect("(")
                test = self._either()
                self._expect(")")
                step = _filtered(step, test)
            else:
                return step

    def _primary(self) -> _Step:
        type_, text = self._peek()
        self._at += 1
        if text == "(" and type_ == "sign":
            inner = self._sum()
            self._expect(")")
            return inner
        if text == "$" and self._peek()[0] == "name":
            name = self._peek()[1]
            self._at += 1
            self.variables.append(name)
            return lambda context: context.variables.get(name, [])
        step = _VARIABLES.get(text) if type_ != "string" else None
        if step is None and type_ in {"number", "string"}:
            step = _constant(Decimal(text) if type_ == "number" else _string(text))
        if step is None:
            raise self._error()
        return step

    def _key(self) -> str:
        type_, text = self._peek()
        if type_ not in {"name", "string"}:
            raise self._error()
        self._at += 1
        return _string(text) if type_ == "string" else text

    def _member(self, step: _Step) -> _Step:
        if self._accept("*"):
            return _members(step, None)
        if self._peek()[1] in _METHODS and self._peek(1)[1] == "(":
            name = self._key()
            self._expect("(")
            self._expect(")")
            return _method(name, step)
        return _members(step, self._key())

    def _subscripts(self, step: _Step) -> _Step:
        if self._accept("*"):
            self._expect("]")
            return _elements(step, None)
        ranges = []
        while True:
            first = self._sum()
            ranges.append((first, self._sum() if self._accept("to") else first))
            if not self._accept(","):
                break
        self._expect("]")
        return _elements(step, ranges)

    def _either(self) -> _Test:
        tests = [self._both()]
        while self._accept("||"):
            tests.append(self._both())
        return lambda context: _any([test(context) for test in tests])

    def _both(self) -> _Test:
        tests = [self._test()]
        while self._accept("&&"):
            tests.append(self._test())
        return lambda context: _not(_any([_not(test(context)) for test in tests]))

    def _test(self) -> _Test:
        if self._accept("!"):
            inner = self._test()
            return lambda context: _not(inner(context))
        if self._peek()[1] == "exists" and self._peek(1)[1] == "(":
            self._at += 2
            operand = self._sum()
            self._expect(")")
            return lambda context: _exists(operand, context)
        start = self._at
        if self._accept("("):
            try:
                inner = self._either()
                self._expect(")")
            except ValueError:
                self._at = start  # a parenthesis of an operand
            else:
                if not self._accept("is"):
                    return inner
                self._expect("unknown")
                return lambda context: inner(context) is None
        return self._comparison()

    def _comparison(self) -> _Test:
        left = self._sum()
        if self._accept("starts"):
            self._expect("with")
            return _compared("starts with", left, self._sum())
        sign = self._accept("==", "!=", "<>", "<", ">", "<=", ">=")
        if sign is None:
            raise self._error()
        return _compared(sign, left, self._sum())


def _constant(value: Any) -> _Step:
    return lambda _: [value]


_VARIABLES: Mapping[str, _Step] = {
    "$": lambda context: [context.root],
    "@": lambda context: [context.item],
    "last": lambda context: [Decimal(context.last)],
    "true": _constant(True),
    "false": _constant(False),
    "null": _constant(None),
}


def _string(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1])


def _unwrapped(items: Sequence[Any], context: _Context) -> Iterator[Any]:
    for item in items:
        if context.lax and isinstance(item, list):
            yield from item
        else:
            yield item


def _number(value: Any) -> Decimal:
    if isinstance(value, Decimal):
        return value
    if isinstance(value, Number):
        return Decimal(value)
    raise PathError("it is not a number")


def _bounded(items: list[Any]) -> list[Any]:
    if len(items) > _MAX_ITEMS:
        raise PathError(f"it finds more than {_MAX_ITEMS} items")
    return items


def _binary(sign: str, left: _Step, right: _Step) -> _Step:
    def apply(context: _Context) -> list[Any]:
        first, second = (list(_unwrapped(item(context), context)) for item in (left, right))
        if len(first) != 1 or len(second) != 1:
            raise PathError("arithmetic needs one item on each side")
        return [_computed(sign, _number(first[0]), _number(second[0]))]

    return apply


def _computed(sign: str, first: Decimal, second: Decimal) -> Decimal:
    with localcontext() as context:
        context.prec = 38
        try:
            if sign in "/%" and first == first.to_integral_value() and second == second.to_integral_value():
                return Decimal(int(first / second)) if sign == "/" else first % second
            return {"+": first + second, "-": first - second, "*": first * second}.get(sign) or (
                first / second if sign == "/" else first % second if sign == "%" else Decimal(0)
            )
        except (InvalidOperation, ArithmeticError):
            raise PathError("division by zero, or out of range") from None


def _members(step: _Step, key: str | None) -> _Step:
    def apply(context: _Context) -> list[Any]:
        result: list[Any] = []
        for item in _unwrapped(step(context), context):
            if isinstance(item, dict) and key is None:
                result += item.values()
            elif isinstance(item, dict) and key in item:
                result.append(item[key])
            elif not context.lax:
                raise PathError("there is no such member")
        return _bounded(result)

    return apply


def _descendants(step: _Step, key: str) -> _Step:
    def walk(value: Any) -> Iterator[Any]:
        if isinstance(value, dict):
            if key in value:
                yield value[key]
            for item in value.values():
                yield from walk(item)
        elif isinstance(value, list):
            for item in value:
                yield from walk(item)

    return lambda context: _bounded([item for entry in step(context) for item in walk(entry)])


def _elements(step: _Step, ranges: Sequence[tuple[_Step, _Step]] | None) -> _Step:
    def apply(context: _Context) -> list[Any]:
        result: list[Any] = []
        for item in step(context):
            if not isinstance(item, list):
                if not context.lax:
                    raise PathError("it is not an array")
                item = [item]  # noqa: PLW2901 lax mode wraps
            result += item if ranges is None else _chosen(item, ranges, context)
        return _bounded(result)

    return apply


def _chosen(items: Sequence[Any], ranges: Sequence[tuple[_Step, _Step]], context: _Context) -> Iterator[Any]:
    inside = replace(context, last=len(items) - 1)
    for first, last in ranges:
        low, high = (_index(item, inside) for item in (first, last))
        if not context.lax and not 0 <= low <= high < len(items):
            raise PathError("there is no such element")
        yield from items[max(low, 0) : high + 1] if high >= 0 else ()


def _index(step: _Step, context: _Context) -> int:
    items = step(context)
    if len(items) != 1:
        raise PathError("a subscript is one number")
    return int(_number(items[0]))


def _filtered(step: _Step, test: _Test) -> _Step:
    def apply(context: _Context) -> list[Any]:
        items = _unwrapped(step(context), context)
        return [item for item in items if test(replace(context, item=item)) is True]

    return apply


def _method(name: str, step: _Step) -> _Step:
    if name == "type":
        return lambda context: [_type(item) for item in step(context)]
    if name == "size":
        return lambda context: [_size(item, context) for item in step(context)]
    if name == "keyvalue":
        return lambda context: [
            pair for at, item in enumerate(_unwrapped(step(context), context)) for pair in _pairs(item, at)
        ]
    return lambda context: [_measured(name, item) for item in _unwrapped(step(context), context)]


def _type(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if value is None:
        return "null"
    if isinstance(value, Number | Decimal):
        return "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def _size(value: Any, context: _Context) -> Decimal:
    if isinstance(value, list):
        return Decimal(len(value))
    if not context.lax:
        raise PathError("it is not an array")
    return Decimal(1)


def _pairs(value: Any, number: int) -> Iterator[Any]:
    if not isinstance(value, dict):
        raise PathError("it is not an object")
    for key, item in value.items():
        yield {"name": key, "value": item, "id": Number(number)}


def _measured(name: str, value: Any) -> Decimal:
    if name == "double":
        try:
            return Decimal(repr(float(value))) if isinstance(value, str | Decimal) else _number(value)
        except ValueError:
            raise PathError("it is not a number") from None
    number = _number(value)
    if name == "abs":
        return abs(number)
    return number.to_integral_value("ROUND_CEILING" if name == "ceiling" else "ROUND_FLOOR")


def _any(values: Sequence[bool | None]) -> bool | None:
    return True if True in values else None if None in values else False


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _exists(step: _Step, context: _Context) -> bool | None:
    try:
        return bool(step(context))
    except PathError:
        return None


def _compared(sign: str, left: _Step, right: _Step) -> _Test:
    def test(context: _Context) -> bool | None:
        try:
            pairs = [(a, b) for a in _unwrapped(left(context), context) for b in _unwrapped(right(context), context)]
        except PathError:
            return None
        answers = []
        for a, b in pairs:
            answers.append(_pair(sign, a, b))
            if context.lax and answers[-1] is not False:
                return answers[-1]
        return None if None in answers else True in answers

    return test


def _pair(sign: str, left: Any, right: Any) -> bool | None:
    if sign == "starts with":
        texts = all(isinstance(item, str) and not isinstance(item, Number) for item in (left, right))
        return left.startswith(right) if texts else None
    if left is None or right is None:
        both = left is None and right is None
        return both if sign in {"==", "<=", ">="} else False
    if isinstance(left, dict | list) or isinstance(right, dict | list) or _type(left) != _type(right):
        return None
    if isinstance(left, Number | Decimal):
        left, right = _number(left), _number(right)
    return bool(
        {
            "==": left == right,
            "!=": left != right,
            "<>": left != right,
            "<": left < right,
            "<=": left <= right,
            ">": left > right,
            ">=": left >= right,
        }[sign]
    )

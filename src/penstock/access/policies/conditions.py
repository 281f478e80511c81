"""The Condition element: operators over the keys of a request.

A condition matches if one of its values matches (with a Not operator: if none matches). It does not match if the request
lacks the key, except with Not, IfExists, ForAllValues and Null. Source: IAM user guide, "IAM JSON policy elements: Condition
operators" and "Set operators for multi-valued context keys".
"""

import base64
import binascii
import ipaddress
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, Protocol

from penstock.access.policies.errors import MalformedPolicy
from penstock.access.policies.globs import arn_glob, text_glob

__all__ = ["Condition", "ContextKeys", "Values", "parse_conditions"]

_OPERATOR = re.compile(r"(?:(ForAllValues|ForAnyValue):)?([A-Za-z]+?)(IfExists)?")
_ALL = "ForAllValues"
_MAX_CONDITIONS = 200
_MAX_VALUES = 1_000

Values = tuple[str, ...]
# Whether one value of the request matches the policy's value that the test was made from.
Test = Callable[[str, "ContextKeys"], bool]


class ContextKeys(Protocol):
    """The keys of one request, in lower case."""

    def get(self, key: str) -> Values | None:
        """Return the key's values; None if the request lacks the key."""

    def text(self, key: str) -> str | None:
        """Return the value of a key that has exactly one; else None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One operator over one key."""

    key: str
    tests: Sequence[Test]
    negated: bool = False
    if_exists: bool = False
    quantifier: str | None = None
    """ForAllValues or ForAnyValue."""
    null: bool | None = None
    """For the operator Null: whether the key has to be absent."""

    def matches(self, context: ContextKeys) -> bool:
        """Return whether the condition matches a request."""
        values = context.get(self.key)
        if self.null is not None:
            return (values is None) == self.null
        if values is None:
            # With no value, all of them match, and none does.
            default = self.negated if self.quantifier is None else self.quantifier == _ALL
            return self.if_exists or default
        fits = (any(test(value, context) for test in self.tests) != self.negated for value in values)
        return all(fits) if self.quantifier == _ALL else any(fits)


def parse_conditions(place: str, value: Any, *, variables: bool) -> tuple[Condition, ...]:
    """Return the conditions of a statement, all of which have to match; raise :class:`MalformedPolicy`."""
    if not isinstance(value, dict):
        raise MalformedPolicy(place, "has to be an object")
    conditions: list[Condition] = []
    for name, keys in value.items():
        if not isinstance(keys, dict):
            raise MalformedPolicy(f"{place}.{name[:60]}", "has to be an object of keys and values")
        for key, values in keys.items():
            conditions.append(_condition(f"{place}.{name[:60]}", name, key, values, variables=variables))
    if len(conditions) > _MAX_CONDITIONS:
        raise MalformedPolicy(place, f"has more than {_MAX_CONDITIONS} keys")
    return tuple(conditions)


def _condition(place: str, name: str, key: str, value: Any, *, variables: bool) -> Condition:
    parts = _OPERATOR.fullmatch(name)
    if parts is None:
        raise MalformedPolicy(place, "is not an operator")
    quantifier, plain, if_exists = parts.groups()
    # A key that no request has is accepted, as by AWS: its condition matches with IfExists, Not or Null.
    if not key or not key.isascii():
        raise MalformedPolicy(place, f"'{key[:100]}' is not a condition key: use SERVICE:KEY, such as aws:SourceIp")
    values = [_text(f"{place}.{key[:100]}", entry) for entry in (value if isinstance(value, list) else [value])]
    if len(values) > _MAX_VALUES:
        raise MalformedPolicy(f"{place}.{key[:100]}", f"has more than {_MAX_VALUES:,} values")
    if plain == "Null":
        if quantifier or if_exists or len(values) != 1 or values[0].lower() not in ("true", "false"):
            raise MalformedPolicy(place, "has to be true or false")
        return Condition(key=key.lower(), tests=(), null=values[0].lower() == "true")
    operator = _OPERATORS.get(plain)
    if operator is None:
        raise MalformedPolicy(place, f"is not an operator; known are {', '.join(sorted([*_OPERATORS, 'Null']))}")
    make, negated = operator
    return Condition(
        key=key.lower(),
        tests=tuple(make(f"{place}.{key[:100]}", text, variables) for text in values),
        negated=negated,
        if_exists=bool(if_exists),
        quantifier=quantifier,
    )


def _text(place: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        text = str(value)
        if "\x00" not in text:
            return text
    raise MalformedPolicy(place, "has to be a string, a number or true or false, or a list of them")


Maker = Callable[[str, str, bool], Test]


def _like(_place: str, expected: str, variables: bool) -> Test:
    glob = text_glob(expected, variables=variables)
    return lambda value, context: glob.matches(value, context.text)


def _equal(_place: str, expected: str, variables: bool, *, ignore_case: bool = False) -> Test:
    if variables and "${" in expected:
        # For this operator, wildcards in the policy's text are plain characters.
        parts = re.split(r"(\$\{[^{}]*\})", expected)
        escaped = "".join(part if part.startswith("${") else _literal(part) for part in parts)
        glob = text_glob(escaped, variables=True, ignore_case=ignore_case)
        return lambda value, context: glob.matches(value, context.text)
    if ignore_case:
        folded = expected.casefold()
        return lambda value, _: value.casefold() == folded
    return lambda value, _: value == expected


def _literal(text: str) -> str:
    return re.sub(r"[*?]", lambda match: "${" + match[0] + "}", text)


def _equal_ignoring_case(place: str, expected: str, variables: bool) -> Test:
    return _equal(place, expected, variables, ignore_case=True)


def _arn(place: str, expected: str, variables: bool) -> Test:
    if not expected.startswith("arn:") and expected != "*" and not (variables and expected.startswith("${")):
        raise MalformedPolicy(place, f"'{expected[:100]}' is not an ARN")
    glob = arn_glob(expected, variables=variables)
    return lambda value, context: glob.matches(value, context.text)


def _boolean(place: str, expected: str, variables: bool) -> Test:
    if expected.lower() not in ("true", "false") and not (variables and expected.startswith("${")):
        raise MalformedPolicy(place, f"'{expected[:100]}' is neither true nor false")
    return _equal(place, expected, variables, ignore_case=True)


def _binary(place: str, expected: str, _variables: bool) -> Test:
    try:
        decoded = base64.b64decode(expected, validate=True)
    except (binascii.Error, ValueError):
        raise MalformedPolicy(place, f"'{expected[:100]}' is not base64") from None
    return lambda value, _: value.encode() == base64.b64encode(decoded)


def _address(place: str, expected: str, _variables: bool) -> Test:
    try:
        network = _unmapped(ipaddress.ip_network(expected, strict=False))
    except ValueError:
        raise MalformedPolicy(place, f"'{expected[:100]}' is not an IP address or range") from None

    def test(value: str, _facts: ContextKeys) -> bool:
        address = _parsed_address(value)
        return address is not None and address.version == network.version and address in network

    return test


def _unmapped(
    network: ipaddress.IPv4Network | ipaddress.IPv6Network,
) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """Return a range of IPv4-mapped IPv6 addresses as IPv4, as clients' addresses are read, too."""
    mapped = network.network_address.ipv4_mapped if isinstance(network, ipaddress.IPv6Network) else None
    return network if mapped is None or network.prefixlen < 96 else ipaddress.ip_network((mapped, network.prefixlen - 96))


@lru_cache(maxsize=1024)
def _parsed_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _ordered(compare: Callable[[Any, Any], bool], read: Callable[[str], Any], what: str) -> Maker:
    """Make tests that compare the values that ``read`` returns; a value that it cannot read (None) does not match."""

    def make(place: str, expected: str, _variables: bool) -> Test:
        bound = read(expected)
        if bound is None:
            raise MalformedPolicy(place, f"'{expected[:100]}' is not {what}")

        def test(value: str, _context: ContextKeys) -> bool:
            number = read(value)
            return number is not None and compare(number, bound)

        return test

    return make


def _moment(text: str) -> datetime | None:
    try:
        if text.isascii() and text.removeprefix("-").isdigit():
            return datetime.fromtimestamp(int(text), UTC)
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError):
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _numeric(compare: Callable[[Any, Any], bool]) -> Maker:
    return _ordered(compare, _number, "a number")


def _date(compare: Callable[[Any, Any], bool]) -> Maker:
    return _ordered(compare, _moment, "a date: use 2026-11-21T10:00:00Z, or seconds since 1970")


_OPERATORS: dict[str, tuple[Maker, bool]] = {
    "StringEquals": (_equal, False),
    "StringNotEquals": (_equal, True),
    "StringEqualsIgnoreCase": (_equal_ignoring_case, False),
    "StringNotEqualsIgnoreCase": (_equal_ignoring_case, True),
    "StringLike": (_like, False),
    "StringNotLike": (_like, True),
    "ArnEquals": (_arn, False),
    "ArnNotEquals": (_arn, True),
    "ArnLike": (_arn, False),
    "ArnNotLike": (_arn, True),
    "Bool": (_boolean, False),
    "BinaryEquals": (_binary, False),
    "IpAddress": (_address, False),
    "NotIpAddress": (_address, True),
    "NumericEquals": (_numeric(operator.eq), False),
    "NumericNotEquals": (_numeric(operator.eq), True),
    "NumericLessThan": (_numeric(operator.lt), False),
    "NumericLessThanEquals": (_numeric(operator.le), False),
    "NumericGreaterThan": (_numeric(operator.gt), False),
    "NumericGreaterThanEquals": (_numeric(operator.ge), False),
    "DateEquals": (_date(operator.eq), False),
    "DateNotEquals": (_date(operator.eq), True),
    "DateLessThan": (_date(operator.lt), False),
    "DateLessThanEquals": (_date(operator.le), False),
    "DateGreaterThan": (_date(operator.gt), False),
    "DateGreaterThanEquals": (_date(operator.ge), False),
}
"""By operator: the function that makes a test of a policy's value, and whether the operator is a Not."""

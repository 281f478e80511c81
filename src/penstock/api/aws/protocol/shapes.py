"""Compiles shapes of AWS's models into functions that check requests and render responses.

A shape is compiled once into nested closures. A check collects every broken rule (AWS answers with all of them), in AWS's
words; a value of the wrong JSON type ends it at once. Members that the model does not have are ignored, as AWS does.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from threading import RLock
from typing import Any

from penstock.api.aws.members.served import Members
from penstock.api.aws.protocol.shape_patterns import matcher
from penstock.api.errors import UnreadableRequest

__all__ = ["Checker", "Renderer", "ShapeCompiler", "UnservedMember"]

# (value, path, list of broken rules) -> the value as Python's type
Checker = Callable[[Any, str, list[str]], Any]
Renderer = Callable[[Any], Any]

_SHOWN = 200  # characters of an offending value in a message


class UnservedMember(Exception):
    """A request has a member that is not served, at ``path``."""

    def __init__(self, member: str, path: str) -> None:
        super().__init__(path)
        self.member = member
        self.path = path


class ShapeCompiler:
    """Compiles the shapes of one model; each shape once.

    ``members`` are the members of requests that are served: checkers raise :class:`UnservedMember` for all others. If it is
    None, all are served.
    """

    def __init__(self, shapes: Mapping[str, Mapping[str, Any]], members: Members | None = None) -> None:
        self._shapes = shapes
        self._members = members
        self._unrestricted = self if members is None else ShapeCompiler(shapes)
        self._checkers: dict[str, Checker] = {}
        self._renderers: dict[str, Renderer] = {}
        # Two threads that compile one shape at once would get each other's forwarder, which calls itself until then.
        self._lock = RLock()

    def checker(self, name: str) -> Checker:
        """Return the function that checks a request's value of shape ``name``."""
        with self._lock:
            if name not in self._checkers:
                # A recursive shape gets this forwarder while it is being compiled.
                self._checkers[name] = lambda *arguments: self._checkers[name](*arguments)  # noqa: PLW0108
                shape = self._shapes[name]
                if shape["type"] == "structure":
                    self._checkers[name] = self._check_structure(name, shape)
                else:
                    self._checkers[name] = getattr(self, f"_check_{shape['type']}", self._check_string)(shape)
            return self._checkers[name]

    def renderer(self, name: str) -> Renderer:
        """Return the function that converts a handler's value of shape ``name`` to JSON values."""
        with self._lock:
            if name not in self._renderers:
                self._renderers[name] = lambda value: self._renderers[name](value)  # noqa: PLW0108
                shape = self._shapes[name]
                self._renderers[name] = getattr(self, f"_render_{shape['type']}", self._render_scalar)(shape)
            return self._renderers[name]

    def _check_structure(self, shape_name: str, shape: Mapping[str, Any]) -> Checker:
        if shape.get("document"):
            return _any
        members = {
            name: (self._check_member(shape_name, name, member), _camel(name)) for name, member in shape["members"].items()
        }
        required = tuple((name, _camel(name)) for name in shape.get("required", ()))

        def check(value: Any, path: str, broken: list[str]) -> Any:
            if type(value) is not dict:
                raise UnreadableRequest(f"Unexpected {_json_type(value)} at '{path}': a structure is expected.")
            checked = {}
            for name, entry in value.items():
                member = members.get(name)
                if member is not None and entry is not None:
                    checker, label = member
                    checked[name] = checker(entry, f"{path}.{label}" if path else label, broken)
            for name, label in required:
                if name not in checked:
                    where = f"{path}.{label}" if path else label
                    broken.append(f"Value null at '{where}' failed to satisfy constraint: Member must not be null")
            return checked

        return check

    def _check_member(self, shape_name: str, name: str, member: Mapping[str, Any]) -> Checker:
        served = self._members
        if served is None or served.serves(shape_name, name):
            return self.checker(member["shape"])
        # Within a harmless member, all members are harmless.
        checker = self._unrestricted.checker(member["shape"])

        def check(value: Any, path: str, broken: list[str]) -> Any:
            if not served.permits(shape_name, name, value):
                raise UnservedMember(name, path)
            return checker(value, path, broken)

        return check

    def _check_list(self, shape: Mapping[str, Any]) -> Checker:
        member = self.checker(shape["member"]["shape"])
        limits = _limits(shape)

        def check(value: Any, path: str, broken: list[str]) -> Any:
            if type(value) is not list:
                raise UnreadableRequest(f"Unexpected {_json_type(value)} at '{path}': a list is expected.")
            if limits:
                _check_limits(len(value), value, path, limits, broken)
            checked = []
            for number, entry in enumerate(value, 1):
                where = f"{path}.{number}.member"
                if entry is None:
                    broken.append(f"Value null at '{where}' failed to satisfy constraint: Member must not be null")
                else:
                    checked.append(member(entry, where, broken))
            return checked

        return check

    def _check_map(self, shape: Mapping[str, Any]) -> Checker:
        key_checker = self.checker(shape["key"]["shape"])
        value_checker = self.checker(shape["value"]["shape"])
        limits = _limits(shape)

        def check(value: Any, path: str, broken: list[str]) -> Any:
            if type(value) is not dict:
                raise UnreadableRequest(f"Unexpected {_json_type(value)} at '{path}': a map is expected.")
            if limits:
                _check_limits(len(value), value, path, limits, broken)
            checked = {}
            for key, entry in value.items():
                key_checker(key, f"{path}.key", broken)
                where = f"{path}.{key[:_SHOWN]}.member"
                if entry is None:
                    broken.append(f"Value null at '{where}' failed to satisfy constraint: Member must not be null")
                else:
                    checked[key] = value_checker(entry, where, broken)
            return checked

        return check

    def _check_string(self, shape: Mapping[str, Any]) -> Checker:
        limits = _limits(shape)
        most = shape.get("max")
        matches = matcher(shape["pattern"], most) if "pattern" in shape else None
        allowed = frozenset(shape.get("enum", ()))
        listed = ", ".join(shape.get("enum", ()))
        hidden = bool(shape.get("sensitive"))

        def check(value: Any, path: str, broken: list[str]) -> Any:
            if type(value) is not str:
                raise UnreadableRequest(f"{_json_type(value)} can not be converted to a String, at '{path}'.")
            if limits:
                _check_limits(len(value), "***" if hidden else value, path, limits, broken)
            if allowed and value not in allowed:
                broken.append(_breach(value, path, f"Member must satisfy enum value set: [{listed}]"))
            # A text that is too long gets that error, and is not matched.
            if matches is not None and (most is None or len(value) <= most) and not matches(value):
                broken.append(_breach(value, path, f"Member must satisfy regular expression pattern: {shape['pattern']}"))
            return value

        return check

    def _check_integer(self, shape: Mapping[str, Any]) -> Checker:
        return _number_checker(shape, "Integer", 2**31)

    def _check_long(self, shape: Mapping[str, Any]) -> Checker:
        return _number_checker(shape, "Long", 2**63)

    def _check_double(self, shape: Mapping[str, Any]) -> Checker:
        bounds = shape.get("min"), shape.get("max")

        def check(value: Any, path: str, broken: list[str]) -> Any:
            if type(value) is not float and type(value) is not int:
                raise UnreadableRequest(f"{_json_type(value)} can not be converted to a Double, at '{path}'.")
            _check_range(value, path, bounds, broken)
            return float(value)

        return check

    _check_float = _check_double

    def _check_boolean(self, shape: Mapping[str, Any]) -> Checker:  # noqa: ARG002
        return _boolean

    def _check_timestamp(self, shape: Mapping[str, Any]) -> Checker:  # noqa: ARG002
        return _timestamp

    def _check_blob(self, shape: Mapping[str, Any]) -> Checker:
        limits = _limits(shape)

        def check(value: Any, path: str, broken: list[str]) -> Any:
            try:
                decoded = base64.b64decode(value, validate=True) if type(value) is str else None
            except (binascii.Error, ValueError):
                decoded = None
            if decoded is None:
                raise UnreadableRequest(f"{_json_type(value)} can not be converted to a Blob, at '{path}'.")
            if limits:
                _check_limits(len(decoded), "***", path, limits, broken)
            return decoded

        return check

    def _render_structure(self, shape: Mapping[str, Any]) -> Renderer:
        if shape.get("document"):
            return _same
        members = {name: self.renderer(member["shape"]) for name, member in shape["members"].items()}

        def render(value: Any) -> Any:
            return {
                name: entry if type(entry) is str else members[name](entry)
                for name, entry in value.items()
                if entry is not None and name in members
            }

        return render

    def _render_list(self, shape: Mapping[str, Any]) -> Renderer:
        member = self.renderer(shape["member"]["shape"])
        return lambda value: [member(entry) for entry in value]

    def _render_map(self, shape: Mapping[str, Any]) -> Renderer:
        member = self.renderer(shape["value"]["shape"])
        return lambda value: {str(key): member(entry) for key, entry in value.items() if entry is not None}

    def _render_timestamp(self, shape: Mapping[str, Any]) -> Renderer:
        # The JSON protocols send seconds since 1970; a member that is a string (crawler schedules) has a timestampFormat.
        if shape.get("timestampFormat") == "iso8601":
            return lambda value: _in_utc(value).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return lambda value: round(_in_utc(value).timestamp(), 3)

    def _render_blob(self, shape: Mapping[str, Any]) -> Renderer:  # noqa: ARG002
        return lambda value: base64.b64encode(value).decode()

    def _render_scalar(self, shape: Mapping[str, Any]) -> Renderer:
        renderers: dict[str, Renderer] = {"string": str, "integer": int, "long": int, "double": float, "float": float}
        return renderers.get(shape["type"], _same)


def _number_checker(shape: Mapping[str, Any], shape_type: str, size: int) -> Checker:
    bounds = shape.get("min"), shape.get("max")

    def check(value: Any, path: str, broken: list[str]) -> Any:
        if type(value) is float and value.is_integer():
            value = int(value)
        if type(value) is not int or not -size <= value < size:
            raise UnreadableRequest(f"{_json_type(value)} can not be converted to {_article(shape_type)}, at '{path}'.")
        _check_range(value, path, bounds, broken)
        return value

    return check


def _article(shape_type: str) -> str:
    return f"an {shape_type}" if shape_type[0] in "AEIOU" else f"a {shape_type}"


def _any(value: Any, path: str, broken: list[str]) -> Any:  # noqa: ARG001
    return value


def _same(value: Any) -> Any:
    return value


def _boolean(value: Any, path: str, broken: list[str]) -> Any:  # noqa: ARG001
    if type(value) is not bool:
        raise UnreadableRequest(f"{_json_type(value)} can not be converted to a Boolean, at '{path}'.")
    return value


def _timestamp(value: Any, path: str, broken: list[str]) -> Any:  # noqa: ARG001
    try:
        if type(value) is float or type(value) is int:
            return datetime.fromtimestamp(value, UTC)
        if type(value) is str:
            return _in_utc(datetime.fromisoformat(value))
    except (ValueError, OverflowError, OSError):
        pass
    raise UnreadableRequest(f"{_json_type(value)} can not be converted to a Timestamp, at '{path}'.")


def _in_utc(value: datetime) -> datetime:
    # Stores keep UTC; a naive datetime would otherwise be read as local time.
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _limits(shape: Mapping[str, Any]) -> tuple[int | None, int | None] | None:
    limits = shape.get("min"), shape.get("max")
    return None if limits == (None, None) else limits


def _check_limits(length: int, value: Any, path: str, limits: tuple[int | None, int | None], broken: list[str]) -> None:
    least, most = limits
    if least is not None and length < least:
        broken.append(_breach(value, path, f"Member must have length greater than or equal to {least}"))
    if most is not None and length > most:
        broken.append(_breach(value, path, f"Member must have length less than or equal to {most}"))


def _check_range(value: float, path: str, bounds: tuple[float | None, float | None], broken: list[str]) -> None:
    least, most = bounds
    if least is not None and value < least:
        broken.append(_breach(value, path, f"Member must have value greater than or equal to {least}"))
    if most is not None and value > most:
        broken.append(_breach(value, path, f"Member must have value less than or equal to {most}"))


def _breach(value: Any, path: str, rule: str) -> str:
    return f"Value '{str(value)[:_SHOWN]}' at '{path}' failed to satisfy constraint: {rule}"


def _camel(name: str) -> str:
    return name[:1].lower() + name[1:]


def _json_type(value: Any) -> str:
    match value:
        case bool():
            return "TRUE_VALUE" if value else "FALSE_VALUE"
        case int() | float():
            return "NUMBER_VALUE"
        case str():
            return "STRING_VALUE"
        case list():
            return "START_ARRAY"
        case dict():
            return "START_OBJECT"
        case _:
            return "NULL_VALUE"

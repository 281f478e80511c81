"""Values of JSON to values of an Avro schema: plain JSON as programs write it, and Avro's own JSON encoding of unions.

Texts become bytes where the schema wants bytes, byte by byte as in Avro's JSON encoding
(https://avro.apache.org/docs/1.12.0/specification/#json-encoding); everything else stays, for the encoder to judge.
"""

from collections.abc import Mapping
from typing import Any

from penstock.serdes.avro.diagnosis import find_misfit

__all__ = ["avro_value", "convert_defaults"]


def avro_value(value: Any, schema: Any, named: Mapping[str, Any]) -> Any:
    """``value``, as :func:`json.loads` gives it, in the form that :func:`penstock.serdes.avro.codec.encoder` takes.

    ``schema`` and ``named`` are those of an :class:`~penstock.serdes.avro.codec.AvroSchema`.
    """
    return _Converter(named).convert(value, schema)


def convert_defaults(named: Mapping[str, Any]) -> None:
    """Make the defaults of the records among ``named`` what fastavro writes: it takes them for values of Python's."""
    for schema in list(named.values()):
        if isinstance(schema, dict) and schema.get("type") in {"record", "error"}:
            for part in schema["fields"]:
                if "default" in part:
                    part["default"] = avro_value(part["default"], part["type"], named)


class _Converter:
    def __init__(self, named: Mapping[str, Any]) -> None:
        self._named = named

    def convert(self, value: Any, schema: Any) -> Any:
        if isinstance(schema, str) and schema in self._named:
            schema = self._named[schema]
        if isinstance(schema, list):
            return self._union(value, schema)
        kind = schema["type"] if isinstance(schema, dict) else schema
        if isinstance(kind, dict | list):
            return self.convert(value, kind)
        if kind in {"bytes", "fixed"} and isinstance(value, str):
            return _bytes(value)
        if kind == "array" and isinstance(value, list):
            return [self.convert(item, schema["items"]) for item in value]
        return self._object(value, schema, kind) if isinstance(value, dict) else value

    def _object(self, value: Mapping[str, Any], schema: Any, kind: str) -> Any:
        if kind == "map":
            return {name: self.convert(item, schema["values"]) for name, item in value.items()}
        if kind not in {"record", "error"}:
            return value
        types = {part["name"]: part["type"] for part in schema["fields"]}
        return {name: self.convert(item, types[name]) if name in types else item for name, item in value.items()}

    def _union(self, value: Any, branches: list[Any]) -> Any:
        for branch in branches:
            converted = self.convert(value, branch)
            if self._fits(converted, branch):
                return converted
        if isinstance(value, dict) and len(value) == 1:
            ((name, item),) = value.items()
            for branch in branches:
                if name == _name(branch):
                    return self.convert(item, branch)
        return value

    def _fits(self, value: Any, branch: Any) -> bool:
        return find_misfit(value, branch, self._named, ignore_unknown=False) is None


def _bytes(text: str) -> Any:
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text  # for the encoder to refuse


def _name(branch: Any) -> str:
    if isinstance(branch, str):
        return branch
    return str(branch.get("name") or branch["type"])

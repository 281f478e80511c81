"""Options of descriptors as .proto text: standard ones by number, custom ones by name."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from penstock.schema.errors import InvalidSchema

__all__ = ["OptionWriter", "quoted"]

_DESCRIPTOR_FILE = "google/protobuf/descriptor.proto"
# descriptor.proto's FieldDescriptor.CppType
_FLOATING, _BOOL, _ENUM, _STRING, _MESSAGE = frozenset({5, 6}), 7, 8, 9, 10


class OptionWriter:
    """Writes the options of one set of files, custom ones by the extensions that these files declare."""

    def __init__(self, files: Sequence[Any]) -> None:
        self._pool: Any = None
        # An option can only be custom where a file imports what it extends.
        if any(file.name == _DESCRIPTOR_FILE for file in files):
            self._pool = _pool(files)

    def assignments(self, options: Any) -> list[str]:
        """``name = value`` for each option that is set, in an order that does not depend on the text."""
        return [f"{name} = {value}" for name, value in self._pairs(options)]

    def statements(self, options: Any, indent: str) -> list[str]:
        """Return the options as statements of a body."""
        return [f"{indent}option {assignment};" for assignment in self.assignments(options)]

    def brackets(self, assignments: Sequence[str]) -> str:
        """Options behind a field, a value or a range."""
        return f" [{', '.join(assignments)}]" if assignments else ""

    def _pairs(self, options: Any) -> Iterator[tuple[str, str]]:
        if self._pool is not None:
            options = _class(self._pool, options.DESCRIPTOR.full_name).FromString(options.SerializeToString())
        fields = options.ListFields()
        standard = [(item, value) for item, value in fields if not item.is_extension]
        custom = sorted(((item, value) for item, value in fields if item.is_extension), key=lambda pair: pair[0].full_name)
        for item, value in (*standard, *custom):
            name = f"(.{item.full_name})" if item.is_extension else item.name
            if item.full_name == "google.protobuf.MessageOptions.map_entry":
                continue
            for single in value if item.is_repeated else [value]:
                yield name, self._value(item, single)

    def _value(self, field: Any, value: Any) -> str:
        if field.cpp_type == _MESSAGE:
            from google.protobuf import text_format  # noqa: PLC0415 - an extra's library

            text = text_format.MessageToString(value, as_one_line=True, descriptor_pool=self._pool)
            return f"{{ {text} }}" if text else "{ }"
        if field.cpp_type == _BOOL:
            return "true" if value else "false"
        if field.cpp_type == _ENUM:
            return str(field.enum_type.values_by_number[value].name)
        if field.cpp_type == _STRING:
            return quoted(value)
        return _number(value) if field.cpp_type in _FLOATING else str(value)


def quoted(value: str | bytes) -> str:
    """Return a string literal in ASCII, by the escapes of the Protobuf language."""
    from google.protobuf import text_encoding  # noqa: PLC0415 - an extra's library

    return f'"{text_encoding.CEscape(cast("bytes", value), as_utf8=False)}"'


def _number(value: float) -> str:
    text = repr(value)
    return text.removesuffix(".0")


def _pool(files: Sequence[Any]) -> Any:
    from google.protobuf.descriptor_pool import DescriptorPool  # noqa: PLC0415 - an extra's library

    pool = DescriptorPool()
    try:
        for file in files:
            pool.AddSerializedFile(file.SerializeToString())
    except TypeError as error:
        raise InvalidSchema(f"The definition's descriptor is not valid: {error}") from None
    return pool


def _class(pool: Any, full_name: str) -> Any:
    from google.protobuf.message_factory import GetMessageClass  # noqa: PLC0415 - an extra's library

    return GetMessageClass(pool.FindMessageTypeByName(full_name))

"""A definition and its imports as one file, for readers that receive only one, such as AWS's Java deserialiser.

Imported types that the definition uses, directly or not, become messages inside one message, whose name sorts behind all of
the definition's own: AWS's frames name a message by its rank among the names of its file, Confluent's by its position, and
both stay what they were. Names of types are not on the wire, so that a reader of the one file reads what was written with
the many. Google's own files stay imports, since every reader has them. Custom options and imported services go: they say
nothing about bytes.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from penstock.schema.errors import NotSelfContained
from penstock.schema.protobuf.compiler import shipped_files
from penstock.schema.protobuf.model import ProtoTree, messages_of
from penstock.schema.protobuf.render import render_file

__all__ = ["merged"]

_WRAPPER = "z_imported"
_REFERENCES = ("type_name", "extendee", "input_type", "output_type")


def merged(tree: ProtoTree, text: str) -> str:
    """``text``, which is the definition of ``tree``, with all it imports in it; as it is where that is Google's files alone.

    Raise :class:`NotSelfContained` if what it uses of an import is of another syntax.
    """
    shipped = shipped_files()
    if all(file.name in shipped for file in tree.files[:-1]):
        return text
    return _Merger(tree).text()


class _Merger:
    def __init__(self, tree: ProtoTree) -> None:
        self._tree = tree
        self._shipped = [file for file in tree.files[:-1] if file.name in shipped_files()]
        self._imported = [file for file in tree.files[:-1] if file.name not in shipped_files()]
        # Types at the top of imported files by full name, with a leading dot as references have it.
        self._types = {
            f".{file.package}.{item.name}" if file.package else f".{item.name}": (file, item)
            for file in self._imported
            for item in (*file.message_type, *file.enum_type)
        }
        # What refers to types in each of them, by the same name.
        self._inside: dict[str, list[Any]] = {}
        for message in (item for file in self._imported for item in messages_of(file)):
            name = self._outermost(f".{message.full_name}")
            assert name is not None
            self._inside.setdefault(name, []).extend((*message.proto.field, *message.proto.extension))
        self._file = type(tree.file)()
        self._file.CopyFrom(tree.file)
        names = [item.name for item in (*self._file.message_type, *self._file.enum_type, *self._file.service)]
        wrapper = _WRAPPER
        while any(wrapper <= name for name in names):
            wrapper = f"z{wrapper}"
        self._wrapper = wrapper
        self._prefix = f".{self._file.package}.{wrapper}" if self._file.package else f".{wrapper}"

    def text(self) -> str:
        used = self._used()
        # Custom options are fields that descriptor.proto's own messages do not know.
        self._file.DiscardUnknownFields()
        for name, (file, item) in self._types.items():
            if name in used:
                self._place(file, item)
        extensions = self._extensions(used)
        for extension in extensions:
            self._wrap([]).extension.append(extension)
        self._rename(self._file)
        self._import()
        return render_file(ProtoTree(files=[*self._shipped, self._file]))

    def _used(self) -> set[str]:
        """Return the imported types at the top of their files that the definition uses, with those that they use."""
        used: set[str] = set()
        pending = list(_parts(self._tree.file))
        while pending:
            for reference in _references(pending.pop()):
                name = self._outermost(reference)
                if name is not None and name not in used:
                    used.add(name)
                    pending.extend(self._inside.get(name, ()))
        return used

    def _outermost(self, reference: str) -> str | None:
        """Return the imported type that ``reference`` names, or in which it names one."""
        name = reference
        while name and name not in self._types:
            name = name.rpartition(".")[0]
        return name or None

    def _extensions(self, used: set[str]) -> list[Any]:
        """Imported extensions, at the top of their files, of messages that the definition uses."""
        return [item for file in self._imported for item in file.extension if self._outermost(item.extendee) in used]

    def _place(self, file: Any, item: Any) -> None:
        own = self._file
        if _language(file) != _language(own):
            raise NotSelfContained(
                f"The import '{file.name[:200]}' is {file.syntax or 'proto2'}, the definition {own.syntax or 'proto2'}.",
                remedy="Write both in one syntax, with the same features.",
            )
        around = self._wrap(file.package.split(".") if file.package else [])
        siblings = around.nested_type if item.DESCRIPTOR.name == "DescriptorProto" else around.enum_type
        copy = siblings.add()
        copy.CopyFrom(item)
        copy.DiscardUnknownFields()

    def _wrap(self, path: Sequence[str]) -> Any:
        """Return the message that stands for a package: its steps are messages inside each other."""
        inside = self._file.message_type
        for name in (self._wrapper, *path):
            message = next((item for item in inside if item.name == name), None)
            if message is None:
                message = inside.add(name=name)
            inside = message.nested_type
        return message

    def _rename(self, file: Any) -> None:
        for part in _parts(file):
            for name in _REFERENCES:
                reference = getattr(part, name, "")
                if reference and self._outermost(reference) is not None:
                    setattr(part, name, self._prefix + reference)

    def _import(self) -> None:
        """Google's files that hold what is used, and no others: a reader may lack those that only options need."""
        homes = {f".{name}": item.file.name for name, item in self._tree.messages.items()}
        homes |= {f".{name}": item.file.name for name, item in self._tree.enums.items()}
        used = {homes.get(reference, "") for part in _parts(self._file) for reference in _references(part)}
        for name in ("dependency", "public_dependency", "weak_dependency", "option_dependency"):
            if name in self._file.DESCRIPTOR.fields_by_name:
                self._file.ClearField(name)
        self._file.dependency.extend(sorted(used & {file.name for file in self._shipped}))


def _language(file: Any) -> tuple[Any, ...]:
    """What the text of a file means: its syntax, and an edition's features for the whole file."""
    return file.syntax or "proto2", file.edition, file.options.features.SerializeToString(deterministic=True)


def _parts(file: Any) -> Iterator[Any]:
    """Yield all that refers to types in a file: fields, extensions and methods."""
    for message in messages_of(file):
        yield from message.proto.field
        yield from message.proto.extension
    yield from file.extension
    for service in file.service:
        yield from service.method


def _references(part: Any) -> Iterator[str]:
    for name in _REFERENCES:
        reference = getattr(part, name, "")
        if reference:
            yield reference

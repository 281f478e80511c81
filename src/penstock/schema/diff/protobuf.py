"""The changes between two Protobuf definitions: messages and enums by name, fields by number, as on the wire."""

from collections.abc import Iterator, Mapping
from typing import Any

from google.protobuf import text_format

from penstock.schema.diff.model import Change, Changes
from penstock.schema.protobuf.compiler import shipped_files
from penstock.schema.protobuf.model import EnumType, MessageType, ProtoTree, default_json_name, real_oneof, type_text
from penstock.schema.protobuf.services import signature

__all__ = ["protobuf_changes"]

# Parts that are compared one by one; the rest of a descriptor, mainly its options, is compared as a whole.
_OF_FIELD = ("name", "number", "label", "type", "type_name", "oneof_index", "proto3_optional")
_OF_MESSAGE = ("name", "field", "nested_type", "enum_type", "oneof_decl", "reserved_range", "reserved_name")
_OF_ENUM = ("name", "value", "reserved_range", "reserved_name")
_OF_FILE = ("name", "package", "syntax", "edition", "dependency", "message_type", "enum_type", "service")
_OF_SERVICE = ("name", "method")
_OF_METHOD = ("name", "input_type", "output_type", "client_streaming", "server_streaming")


def protobuf_changes(old: ProtoTree, new: ProtoTree) -> Changes:
    """Return the changes from ``old`` to ``new``: the definition's own parts, then those of the files that both import."""
    changes = list(_file(old.file, new.file, old, new))
    imported = {file.name: file for file in new.files[:-1] if file.name not in shipped_files()}
    for file in old.files[:-1]:
        if file.name in imported:
            changes.extend(_file(file, imported[file.name], old, new))
    return Changes(changes=changes, same={})


def _file(old: Any, new: Any, before: ProtoTree, after: ProtoTree) -> Iterator[Change]:
    if old.package != new.package:
        yield Change(path="/", part="package", old=old.package or "(none)", new=new.package or "(none)")
    yield from _maybe(
        "/", "syntax", *(f"{file.syntax or 'proto2'} {file.edition or ''}".strip() for file in (old, new)), inert=True
    )
    for name in sorted({*old.dependency, *new.dependency}):
        sides = (name if name in file.dependency else None for file in (old, new))
        yield from _maybe("/", "import", *sides, inert=True)
    yield from _rest(old, new, _OF_FILE, "/")
    yield from _messages(old, new, before, after)
    yield from _enums(old, new, before, after)
    yield from _services(old, new, before, after)


def _messages(old: Any, new: Any, before: ProtoTree, after: ProtoTree) -> Iterator[Change]:
    ours, theirs = (_own(tree.messages.values(), file) for tree, file in ((before, old), (after, new)))
    yield from _order(ours, theirs)
    for name in [*ours, *(name for name in theirs if name not in ours)]:
        path, around = f"/{name.replace('.', '/')}", name.rpartition(".")[0]
        if name in ours and name in theirs:
            yield from _message(ours[name], theirs[name], before, after, path)
        elif not around or (around in ours and around in theirs):
            sides = (f"message {name}" if name in side else None for side in (ours, theirs))
            yield from _maybe(path, "message", *sides)


def _order(ours: Mapping[str, MessageType], theirs: Mapping[str, MessageType]) -> Iterator[Change]:
    """Yield a change of the order of messages, on which some readers depend: Confluent's frames count messages."""
    old, new = [name for name in ours if name in theirs], [name for name in theirs if name in ours]
    if old != new:
        yield Change(path="/", part="order of messages", old=", ".join(ours), new=", ".join(theirs), inert=True)


def _message(old: MessageType, new: MessageType, before: ProtoTree, after: ProtoTree, path: str) -> Iterator[Change]:
    ours, theirs = ({field.number: field for field in message.proto.field} for message in (old, new))
    for number in sorted(ours.keys() | theirs.keys()):
        before_field, after_field = ours.get(number), theirs.get(number)
        texts = [
            None if field is None else _field(field, message, tree)
            for field, message, tree in ((before_field, old, before), (after_field, new, after))
        ]
        shown: Any = after_field if after_field is not None else before_field
        also = {f"{path}/{name}" for name in (*_oneof_paths(before_field, old), *_oneof_paths(after_field, new))}
        if before_field is not None:
            also.add(f"{path}/{before_field.name}")  # used if the reader has the old name
        yield from _maybe(f"{path}/{shown.name}", "field", *texts, also=tuple(sorted(also)))
        if before_field is not None and after_field is not None:
            yield from _rest(_plain(before_field), _plain(after_field), _OF_FIELD, f"{path}/{after_field.name}")
    yield from _oneofs(old, new, path)
    yield from _reserved(old.proto, new.proto, path, last=1)
    yield from _rest(old.proto, new.proto, _OF_MESSAGE, path)


def _field(field: Any, message: MessageType, tree: ProtoTree) -> str:
    oneof = real_oneof(field)
    inside = "" if oneof is None else f" in oneof {message.proto.oneof_decl[oneof].name}"
    return f"{'optional ' if field.proto3_optional else ''}{type_text(field, tree)} {field.name} = {field.number}{inside}"


def _oneof_paths(field: Any, message: MessageType) -> Iterator[str]:
    oneof = None if field is None else real_oneof(field)
    if oneof is not None:
        name = message.proto.oneof_decl[oneof].name
        yield name
        yield f"{name}/{field.name}"


def _plain(field: Any) -> Any:
    """Return the field without its JSON name if that is the default."""
    if field.json_name != default_json_name(field.name):
        return field
    copy = type(field)()
    copy.CopyFrom(field)
    copy.ClearField("json_name")
    return copy


def _oneofs(old: MessageType, new: MessageType, path: str) -> Iterator[Change]:
    ours, theirs = (
        {message.proto.oneof_decl[index].name: message.proto.oneof_decl[index] for index in _written(message)}
        for message in (old, new)
    )
    for name in [name for name in ours if name in theirs]:
        yield from _rest(ours[name], theirs[name], ("name",), f"{path}/{name}")


def _written(message: MessageType) -> list[int]:
    return sorted({index for index in map(real_oneof, message.proto.field) if index is not None})


def _enums(old: Any, new: Any, before: ProtoTree, after: ProtoTree) -> Iterator[Change]:
    ours, theirs = (_own(tree.enums.values(), file) for tree, file in ((before, old), (after, new)))
    for name in [*ours, *(name for name in theirs if name not in ours)]:
        path = f"/{name.replace('.', '/')}"
        if name in ours and name in theirs:
            yield from _enum(ours[name], theirs[name], path)
        else:
            yield from _maybe(path, "enum", *(f"enum {name}" if name in side else None for side in (ours, theirs)))


def _enum(old: EnumType, new: EnumType, path: str) -> Iterator[Change]:
    ours, theirs = ({value.name: value for value in enum.proto.value} for enum in (old, new))
    for name in [*ours, *(name for name in theirs if name not in ours)]:
        old_value, new_value = ours.get(name), theirs.get(name)
        texts = (None if value is None else f"{name} = {value.number}" for value in (old_value, new_value))
        yield from _maybe(f"{path}/{name}", "value", *texts)
        if old_value is not None and new_value is not None:
            yield from _rest(old_value, new_value, ("name", "number"), f"{path}/{name}")
    first = [enum.proto.value[0].name for enum in (old, new)]
    yield from _maybe(path, "first value", *first)
    yield from _reserved(old.proto, new.proto, path, last=0)
    yield from _rest(old.proto, new.proto, _OF_ENUM, path)


def _services(old: Any, new: Any, before: ProtoTree, after: ProtoTree) -> Iterator[Change]:
    ours, theirs = ({service.name: service for service in file.service} for file in (old, new))
    for name in sorted({*ours, *theirs}):
        old_service, new_service = ours.get(name), theirs.get(name)
        if old_service is None or new_service is None:
            texts = (None if service is None else f"service {name}" for service in (old_service, new_service))
            yield from _maybe(f"/{name}", "service", *texts)
        else:
            yield from _methods(old_service, new_service, before, after)
            yield from _rest(old_service, new_service, _OF_SERVICE, f"/{name}")


def _methods(old: Any, new: Any, before: ProtoTree, after: ProtoTree) -> Iterator[Change]:
    ours, theirs = ({method.name: method for method in service.method} for service in (old, new))
    for name in sorted({*ours, *theirs}):
        path = f"/{new.name}/{name}"
        old_method, new_method = ours.get(name), theirs.get(name)
        texts = (
            None if method is None else signature(method, tree)
            for method, tree in ((old_method, before), (new_method, after))
        )
        yield from _maybe(path, "method", *texts)
        if old_method is not None and new_method is not None:
            yield from _rest(old_method, new_method, _OF_METHOD, path)


def _own(types: Any, file: Any) -> dict[str, Any]:
    return {
        declared.local_name: declared
        for declared in types
        if declared.file is file and not getattr(declared, "is_map_entry", False)
    }


def _reserved(old: Any, new: Any, path: str, *, last: int) -> Iterator[Change]:
    """Compare reserved ranges and names; ``last`` is the distance from a range's last number to its end."""
    texts = []
    for proto in (old, new):
        spans = sorted((span.start, span.end - last) for span in proto.reserved_range)
        numbers = [str(start) if start == end else f"{start} to {end}" for start, end in spans]
        texts.append(", ".join([*numbers, *sorted(f'"{name}"' for name in proto.reserved_name)]) or None)
    yield from _maybe(path, "reserved", *texts, inert=True)


def _rest(old: Any, new: Any, apart: tuple[str, ...], path: str) -> Iterator[Change]:
    """Compare two descriptors without the parts named in ``apart``."""
    texts = []
    for proto in (old, new):
        copy = type(proto)()
        copy.CopyFrom(proto)
        for name in apart:
            copy.ClearField(name)
        texts.append(text_format.MessageToString(copy, as_one_line=True))
    yield from _maybe(path, "options", *(text or None for text in texts), inert=True)


def _maybe(
    path: str, part: str, old: str | None, new: str | None, *, inert: bool = False, also: tuple[str, ...] = ()
) -> Iterator[Change]:
    if old != new:
        yield Change(path=path, part=part, old=old, new=new, inert=inert, also=tuple(item for item in also if item != path))

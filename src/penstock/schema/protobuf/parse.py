"""Parsing of Protobuf definitions into :class:`~penstock.schema.protobuf.model.ProtoTree` by Google's compiler."""

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penstock.errors import EnvironmentProblem
from penstock.schema.errors import InvalidSchema
from penstock.schema.format import MAX_DEFINITION_CHARS, ReferencedText
from penstock.schema.protobuf.compiler import CompileError, CompilerGaveUp, compile_files, shipped_files
from penstock.schema.protobuf.map_entries import restore_map_entries
from penstock.schema.protobuf.model import MAIN_FILE, ProtoTree, shared
from penstock.schema.protobuf.render import render_file
from penstock.schema.protobuf.source import check_text, escape_backslashes, mark_map_entries

__all__ = ["MAX_REFERENCED_CHARS", "MAX_REFERENCES", "parse_protobuf"]

MAX_REFERENCES = 1_000
MAX_REFERENCED_CHARS = 4_000_000
_MAX_PATH = 255  # bytes of one step of an import path, as file systems have it
_MAX_BASE64 = 4 * MAX_DEFINITION_CHARS  # map entries are long in a descriptor
_MAX_DESCRIPTORS = 50  # referred to: each takes a compilation of what it imports to be read
_MARKER = "penstock_map_entry"


def parse_protobuf(text: str, references: Sequence[ReferencedText] = ()) -> tuple[str, ProtoTree]:
    """Return the definition's text and its compiled form. Raise :class:`InvalidSchema` with the fault and its place.

    ``text`` is .proto source or, as some clients of Confluent's register it, a FileDescriptorProto in base64, of which the
    text is rendered. ``references`` are named by import path; Google's well-known types are there without.
    """
    files = _files(references)
    descriptor = _descriptor(text)
    if descriptor is None:
        check_text(text, "The definition")
        tree = _compile({**files, MAIN_FILE: text})
        file = tree.file
        if not (file.message_type or file.enum_type or file.service or file.extension or file.dependency):
            raise InvalidSchema("The definition declares nothing.", remedy="Declare at least one message.")
        return text, tree
    # Rendered and compiled again, so that the compiler's rules hold for what comes as bytes too.
    source = _rendered(descriptor, files)
    check_text(source, "The descriptor's text")
    tree = _compile({**files, MAIN_FILE: source})
    if render_file(tree) != source:
        raise InvalidSchema(
            "The descriptor is not one that a compiler makes: as text it means something else.",
            remedy="Register the .proto text, or a descriptor with resolved names.",
        )
    return source, tree


def _files(references: Sequence[ReferencedText]) -> dict[str, str]:
    if len(references) > MAX_REFERENCES or sum(len(item.text) for item in references) > MAX_REFERENCED_CHARS:
        raise InvalidSchema(
            f"The definition builds on {len(references)} others; the limits are {MAX_REFERENCES} and "
            f"{MAX_REFERENCED_CHARS} characters of text.",
            remedy="Import fewer files.",
        )
    files: dict[str, str] = {}
    for item in references:
        _check_path(item.name)
        # The compiler's own copies win: clients register renderings of them that may lack what newer files need.
        if item.name in shipped_files():
            continue
        if files.get(item.name, item.text) != item.text:
            raise InvalidSchema(
                f"Two different texts are referred to as '{item.name}'.",
                remedy="Let all imports of a path mean one version.",
            )
        files[item.name] = item.text
    pending = {name: descriptor for name, text in files.items() if (descriptor := _descriptor(text)) is not None}
    if len(pending) > _MAX_DESCRIPTORS:
        raise InvalidSchema(
            f"{len(pending)} of the imports are descriptors; the limit is {_MAX_DESCRIPTORS}.",
            remedy="Register them as .proto text.",
        )
    for name, descriptor in pending.items():
        files[name] = _rendered(descriptor, files)
    for name, text in files.items():
        check_text(text, f"The import '{name}'")
    return files


def _check_path(name: str) -> None:
    steps = name.split("/")
    if (
        not name
        or name == MAIN_FILE
        or len(name) > 4 * _MAX_PATH
        or any(step in {"", ".", ".."} or len(step.encode(errors="replace")) > _MAX_PATH for step in steps)
        or any(character in "\\\0" or not character.isprintable() for character in name)
    ):
        raise InvalidSchema(
            f"'{name[:200]}' cannot be the path of an import.",
            remedy="Name a reference exactly as the import statement does: a relative path with '/' between its steps.",
        )


def _descriptor(text: str) -> Any | None:
    """Return the FileDescriptorProto that ``text`` encodes in base64; ``None`` for .proto source, which is never base64."""
    if len(text) > _MAX_BASE64 or not text.strip() or any(character in text[:2000] for character in '{};"'):
        return None
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return None
    descriptor = _parse_file_descriptor(data)
    # Some words are base64 of a message without any content.
    return (
        descriptor
        if descriptor is not None and (descriptor.message_type or descriptor.enum_type or descriptor.dependency)
        else None
    )


def _rendered(descriptor: Any, files: Mapping[str, str]) -> str:
    """Return the text of a descriptor; its custom options are read by compiling what it imports."""
    imports = [name for name in descriptor.dependency if name in files or name in shipped_files()]
    around: list[Any] = []
    if imports:
        stub = "".join(f'import "{name}";\n' for name in imports)
        around = list(_compile({**files, MAIN_FILE: 'syntax = "proto3";\n' + stub}).files[:-1])
    copy = type(descriptor)()
    copy.CopyFrom(descriptor)
    copy.name = MAIN_FILE
    return render_file(ProtoTree(files=[*around, copy]))


def _compile(files: dict[str, str]) -> ProtoTree:
    marker = _MARKER
    while any(marker in text for text in files.values()):
        marker += "_"
    marked = {name: mark_map_entries(escape_backslashes(text), marker) for name, text in files.items()}
    try:
        result = compile_files(marked, MAIN_FILE)
    except CompilerGaveUp as error:
        raise InvalidSchema(
            f"The definition is too complex for Google's protocol compiler: {error}.",
            remedy="Split it into smaller files that import each other.",
        ) from None
    if not isinstance(result, bytes):
        raise _refusal(result)
    compiled = _parse_descriptor_set(result).file
    comments = dict(_comments(compiled[-1]))
    prepared: list[Any] = []
    for file in compiled:
        file.ClearField("source_code_info")
        if file.name in shipped_files():
            prepared.append(shared(file))
            continue
        if marked[file.name] != files[file.name]:
            restore_map_entries(file, marker)
        # A copy, because a part of a message keeps the memory of the whole.
        copy = type(file)()
        copy.CopyFrom(file)
        prepared.append(copy)
    return ProtoTree(files=prepared, comments=comments)


def _refusal(errors: Sequence[CompileError]) -> InvalidSchema:
    missing = [error.file for error in errors if error.message == "File not found."]
    if missing:
        return InvalidSchema(
            f"The import '{missing[0]}' is not known.",
            remedy="Register that file as a schema of its own and name it among the references of this one, under exactly "
            "the path of the import.",
        )
    # What is wrong in an import comes before what is wrong because of it.
    first = next((error for error in errors if not error.message.startswith("Import ")), errors[0])
    where = [] if first.file == MAIN_FILE else [f"in the import '{first.file}'"]
    if first.line:
        where.append(f"line {first.line}, column {first.column}")
    more = f" ({len(errors) - 1} more follow)" if len(errors) > 1 else ""
    message = _plain(first.message)
    place = f"{', '.join(where)}: " if where else ""
    return InvalidSchema(f"The definition is not valid Protobuf: {place}{message}{more}")


def _plain(message: str) -> str:
    return " ".join(message.replace(f"{MAIN_FILE}:", "").split())


def _comments(file: Any) -> Iterator[tuple[str, str]]:
    """Comments of messages and their fields by full name, from the locations of descriptor.proto's SourceCodeInfo."""
    for location in file.source_code_info.location:
        path = list(location.path)
        text = " ".join((location.leading_comments or location.trailing_comments).replace("*", " ").split())
        if not text or path[:1] != [4] or len(path) % 2:
            continue
        element = file.message_type[path[1]]
        name = f"{file.package}.{element.name}" if file.package else element.name
        for kind, position in zip(path[2::2], path[3::2], strict=True):
            # 3 nested_type and 2 field of a message; 4 is its enum_type, and a field has neither
            if kind not in {2, 3} or element is None:
                break
            part = element.field[position] if kind == 2 else element.nested_type[position]
            name = f"{name}.{part.name}"
            element = None if kind == 2 else part
        else:
            yield name, text


def _descriptors() -> Any:
    """``google.protobuf.descriptor_pb2``. Raise :class:`~penstock.errors.EnvironmentProblem` if it is not installed."""
    try:
        from google.protobuf import descriptor_pb2  # noqa: PLC0415 - an extra's library, needed for this format only
    except ImportError:
        raise EnvironmentProblem(
            "Protobuf schemas need Google's protobuf library, which is not installed.",
            remedy="Run: pip install 'penstock[protobuf]'",
        ) from None
    return descriptor_pb2


def _parse_descriptor_set(data: bytes) -> Any:
    """Return the FileDescriptorSet in ``data``."""
    return _descriptors().FileDescriptorSet.FromString(data)


def _parse_file_descriptor(data: bytes) -> Any | None:
    """Return the FileDescriptorProto in ``data``, or ``None`` if it is not one."""
    from google.protobuf.message import DecodeError  # noqa: PLC0415

    try:
        return _descriptors().FileDescriptorProto.FromString(data)
    except DecodeError:
        return None

"""Services of two definitions: methods that callers depend on and that were removed or changed."""

from collections.abc import Iterator, Mapping
from typing import Any

from penstock.schema.incompatibility import Incompatibility
from penstock.schema.protobuf.model import ProtoTree

__all__ = ["service_conflicts", "signature"]


def service_conflicts(reader: ProtoTree, writer: ProtoTree) -> Iterator[Incompatibility]:
    """Yield findings for services and methods that the writer has and the reader lacks or changes."""
    services = _by_name(reader.file.service)
    for old in writer.file.service:
        new = services.get(old.name)
        if new is None:
            yield Incompatibility(
                path=f"/{old.name}",
                rule="SERVICE_REMOVED",
                reader="(missing)",
                writer=f"service {old.name}",
                message=f"The reader has no service {old.name}. Keep it; methods may be added to it.",
            )
            continue
        methods = _by_name(new.method)
        for method in old.method:
            yield from _method(methods.get(method.name), method, f"/{old.name}/{method.name}", reader, writer)


def _method(new: Any | None, old: Any, path: str, reader: ProtoTree, writer: ProtoTree) -> Iterator[Incompatibility]:
    written = signature(old, writer)
    if new is None:
        yield Incompatibility(
            path=path,
            rule="RPC_REMOVED",
            reader="(missing)",
            writer=written,
            message=f"The reader's service has no method {old.name}. Keep it; methods may be added.",
        )
    elif (read := signature(new, reader)) != written:
        yield Incompatibility(
            path=path,
            rule="RPC_SIGNATURE_CHANGED",
            reader=read,
            writer=written,
            message=f"The method {old.name} takes or returns something else. Add a method of another name instead.",
        )


def signature(method: Any, tree: ProtoTree) -> str:
    """Return a method as its service declares it, messages without their package."""
    accepted, returned = (tree.messages[name[1:]].local_name for name in (method.input_type, method.output_type))
    return (
        f"rpc {method.name} ({'stream ' if method.client_streaming else ''}{accepted}) "
        f"returns ({'stream ' if method.server_streaming else ''}{returned})"
    )


def _by_name(items: Any) -> Mapping[str, Any]:
    return {item.name: item for item in items}

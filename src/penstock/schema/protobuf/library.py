"""Google's protobuf library, imported when first needed."""

from typing import Any

from penstock.errors import EnvironmentProblem

__all__ = ["descriptors", "parse_descriptor_set", "parse_file_descriptor"]


def descriptors() -> Any:
    """``google.protobuf.descriptor_pb2``. Raise :class:`~penstock.errors.EnvironmentProblem` if it is not installed."""
    try:
        from google.protobuf import descriptor_pb2  # noqa: PLC0415 - an extra's library, needed for this format only
    except ImportError:
        raise EnvironmentProblem(
            "Protobuf schemas need Google's protobuf library, which is not installed.",
            remedy="Run: pip install 'penstock[protobuf]'",
        ) from None
    return descriptor_pb2


def parse_descriptor_set(data: bytes) -> Any:
    """Return the FileDescriptorSet in ``data``."""
    return descriptors().FileDescriptorSet.FromString(data)


def parse_file_descriptor(data: bytes) -> Any | None:
    """Return the FileDescriptorProto in ``data``, or ``None`` if it is not one."""
    from google.protobuf.message import DecodeError  # noqa: PLC0415

    try:
        return descriptors().FileDescriptorProto.FromString(data)
    except DecodeError:
        return None

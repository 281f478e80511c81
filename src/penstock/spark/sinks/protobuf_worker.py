"""JSON to Protobuf messages, in Spark's Python workers. Shipped by value: it must not import Penstock.

The workers need the packages pyarrow, which every Arrow UDF needs, and protobuf.
"""

from collections.abc import Callable, Sequence

import pyarrow as pa

__all__ = ["message_writer"]

_MISFIT = "PROTOBUF_MISFIT"


def message_writer(files: Sequence[bytes], message: str, head: bytes) -> Callable[[pa.Array], pa.Array]:
    """Return the function from Protobuf's JSON to ``head`` and the message's bytes; null for null.

    ``files`` are serialized FileDescriptorProtos, each behind what it imports. Raises ValueError for JSON that does not fit.
    """
    writers: list[Callable[[str | None], bytes | None]] = []

    def write(texts: pa.Array) -> pa.Array:
        if not writers:
            writers.append(_writer(files, message, head))
        return pa.array((writers[0](text) for text in texts.to_pylist()), pa.binary())

    return write


def _writer(files: Sequence[bytes], message: str, head: bytes) -> Callable[[str | None], bytes | None]:
    from google.protobuf import json_format  # noqa: PLC0415 -- the driver may not have it
    from google.protobuf.descriptor_pb2 import FileDescriptorProto  # noqa: PLC0415
    from google.protobuf.descriptor_pool import DescriptorPool  # noqa: PLC0415
    from google.protobuf.message_factory import GetMessageClass  # noqa: PLC0415

    pool = DescriptorPool()
    for file in files:
        pool.Add(FileDescriptorProto.FromString(file))
    message_class = GetMessageClass(pool.FindMessageTypeByName(message))

    def write(text: str | None) -> bytes | None:
        if text is None:
            return None
        try:
            parsed = json_format.Parse(text, message_class(), descriptor_pool=pool)
        except json_format.ParseError as error:
            # Put together here, because Spark's error shows the line that raises, too.
            reason = f"{_MISFIT}: {error}"
            raise ValueError(reason) from None
        return head + bytes(parsed.SerializeToString(deterministic=True))

    return write

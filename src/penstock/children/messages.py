"""Messages between a process and its child: declared types, as JSON in the heads of frames.

What arrives is checked against the declared type while it is read: members, types, nesting. Nothing that a child sends is
executed, as a pickle would be. A child with the standard library alone writes the same JSON, ``{"$type": "Answer", ...}``.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from penstock.bounded_json import count_marks

__all__ = ["MalformedMessage", "Message", "MessageReader", "encode", "printable"]

MAX_VALUES = 4_000_000
"""How many values a message has at most: each takes some 60 bytes of memory, and two of its text."""

M = TypeVar("M")


class Message(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="$type", forbid_unknown_fields=True):
    """The base class of messages, all frozen; a class's name is their ``$type``. Members may be dataclasses."""


class MalformedMessage(ValueError):
    """A message is not of a type that its receiver reads."""


class MessageReader(Generic[M]):
    """Reads messages, or members of them, of the type ``declared``: a class, a union of classes, or any other type."""

    def __init__(self, declared: Any, *, most: int | None = MAX_VALUES) -> None:
        """``most`` is the number of values that a message may have, None where the sender is trusted."""
        self._decoder = msgspec.json.Decoder(declared, dec_hook=_decoded)
        self._most = most

    def read(self, data: bytes | msgspec.Raw) -> M:
        """Return the message. Raises :class:`MalformedMessage`."""
        content = bytes(data)
        # Two bytes can become an empty list of sixty.
        if self._most is not None and len(content) > self._most and count_marks(content, self._most) > self._most:
            raise MalformedMessage(f"A message has more than {self._most:,} values.")
        try:
            message: M = self._decoder.decode(content)
        except (msgspec.MsgspecError, RecursionError, ValueError, TypeError) as error:
            raise MalformedMessage(f"A message cannot be read: {error}.") from None
        return message


def encode(message: Any) -> bytes:
    """Return a message, or a member of one, as JSON."""
    return _ENCODER.encode(message)


def printable(text: str) -> str:
    """Return ``text`` without the surrogates that stand for bytes of file names, which no JSON has."""
    return text.encode(errors="replace").decode()


def _encoded(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError(f"{type(value).__name__} is not a member of messages")


def _decoded(declared: Any, value: Any) -> Any:
    if declared is Path and isinstance(value, str):
        return Path(value)
    if declared is object:
        return value
    raise NotImplementedError(f"{declared} is not a member of messages")


_ENCODER = msgspec.json.Encoder(enc_hook=_encoded)

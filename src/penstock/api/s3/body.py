"""Reads a request's body in bounded pieces: decodes AWS's chunks, hashes, checks and writes it.

Source of the chunks: Amazon S3 API reference, "Signature Calculations for the Authorization Header: Transferring Payload in
Multiple Chunks" and "Trailing headers".
"""

import asyncio
import base64
import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from starlette.types import Receive

from penstock.api.s3.checksums import ALGORITHMS, Checksum, declared_checksums, header_of
from penstock.api.s3.signature import ChunkSigner, Payload
from penstock.lake.objects.errors import S3Error

__all__ = ["MAX_OBJECT", "BodyReader", "Sink"]

MAX_OBJECT = 5 * 1024**3
"""The largest put or part in bytes, as in S3."""
_BLOCK = 512 * 1024
_MAX_LINE = 1_024  # bytes of a chunk's head, and of a line of the trailer
_MAX_TRAILER = 16


class Sink(Protocol):
    """What the bytes are written to. Called on a thread."""

    def write(self, data: bytes) -> None: ...


class _Chunks:
    """Decodes AWS's chunks in a body, piece by piece. ``trailer`` has the headers after the last chunk."""

    def __init__(self, payload: Payload, signer: ChunkSigner) -> None:
        self._payload = payload
        self._signer = signer
        self._buffer = bytearray()
        self._left = 0  # bytes of the chunk that are still to come
        self._state = "head"
        self._signature = ""
        self._hash = hashlib.sha256()
        self._signed_lines = b""
        self.trailer: dict[str, str] = {}

    @property
    def complete(self) -> bool:
        """Whether the last chunk and its trailer have arrived."""
        return self._state == "end" or (self._state == "trailer" and not self._payload.signed and not self._buffer)

    def feed(self, data: bytes) -> list[bytes]:
        """Return the bytes of the object in ``data``."""
        self._buffer += data
        content: list[bytes] = []
        while self._step(content):
            pass
        return content

    def _step(self, content: list[bytes]) -> bool:
        if self._state == "data":
            piece = bytes(self._buffer[: self._left])
            if not piece:
                return False
            del self._buffer[: len(piece)]
            self._left -= len(piece)
            if self._payload.signed:
                self._hash.update(piece)
            content.append(piece)
            if self._left == 0:
                self._end_chunk()
                self._state = "gap"
            return True
        if self._state == "end":
            self._buffer.clear()
            return False
        line = self._line()
        if line is None:
            return False
        if self._state == "gap":
            if line:
                raise _malformed()
            self._state = "head"
        elif self._state == "head":
            self._begin_chunk(line)
        else:
            self._take_trailer(line)
        return True

    def _line(self) -> bytes | None:
        end = self._buffer.find(b"\n", 0, _MAX_LINE)
        if end < 0:
            if len(self._buffer) >= _MAX_LINE:
                raise _malformed()
            return None
        line = bytes(self._buffer[:end]).rstrip(b"\r")
        del self._buffer[: end + 1]
        return line

    def _begin_chunk(self, line: bytes) -> None:
        size, _, extension = line.partition(b";")
        name, _, signature = extension.partition(b"=")
        try:
            self._left = int(size, 16)
            self._signature = signature.decode("ascii").strip()
        except ValueError:
            raise _malformed() from None
        if not 0 <= self._left <= MAX_OBJECT or (self._payload.signed and name.strip() != b"chunk-signature"):
            raise _malformed()
        self._hash = hashlib.sha256()
        self._state = "data"
        if self._left == 0:
            self._end_chunk()
            self._state = "trailer" if self._payload.trailer else "end"

    def _end_chunk(self) -> None:
        if self._payload.signed:
            self._signer.check_chunk(self._signature, self._hash.hexdigest())

    def _take_trailer(self, line: bytes) -> None:
        if not line:
            if self._payload.signed:
                raise _malformed()
            self._state = "end"
            return
        name, colon, value = line.decode("latin-1").partition(":")
        name = name.strip().lower()
        if not colon or len(self.trailer) >= _MAX_TRAILER:
            raise _malformed()
        if name == "x-amz-trailer-signature":
            self._signer.check_trailer(value.strip(), self._signed_lines)
            self._state = "end"
            return
        self.trailer[name] = value.strip()
        self._signed_lines += f"{name}:{value.strip()}\n".encode()


def _malformed() -> S3Error:
    return S3Error("IncompleteBody", "The request body is not in the chunks that its headers announce.")


class BodyReader:
    """The body of one request. It is read once: into memory, or into a sink, block by block on a thread."""

    def __init__(
        self,
        receive: Receive,
        headers: Mapping[str, str],
        payload: Payload,
        signer: ChunkSigner,
        run: Callable[..., Any],
    ) -> None:
        self._receive = receive
        self._headers = headers
        self._payload = payload
        self._run = run
        self._chunks = _Chunks(payload, signer) if payload.chunked else None
        self._sha256 = hashlib.sha256() if payload.sha256 is not None else None
        self._md5 = hashlib.md5(usedforsecurity=False) if "content-md5" in headers else None
        self._announced = declared_checksums(headers)
        trailer = headers.get("x-amz-trailer", "")
        self._trailing = [
            algorithm for algorithm in ALGORITHMS if header_of(algorithm) in {t.strip().lower() for t in trailer.split(",")}
        ]
        self.checksums: dict[str, Checksum] = {}
        self._size = 0
        self.length = self._length()

    def want(self, algorithm: str) -> None:
        """Compute a checksum besides those that the request announces."""
        self.checksums.setdefault(algorithm, Checksum(algorithm))

    def _length(self) -> int | None:
        """Return the bytes of the object by the headers; None with HTTP's own chunks, which need no length."""
        name = "x-amz-decoded-content-length" if self._payload.chunked else "content-length"
        text = self._headers.get(name)
        if text is None:
            return None
        if not (text.isascii() and text.isdigit() and len(text) < 16):
            raise S3Error("InvalidArgument", f"The header {name} is not a number of bytes.")
        return int(text)

    async def read_all(self, limit: int) -> bytes:
        """Return a small body; raise :class:`S3Error` if it exceeds ``limit`` bytes or does not match its signature."""
        collected = _Memory(limit)
        await self.pour(collected, limit=limit)
        return bytes(collected.data)

    async def pour(self, sink: Sink, *, limit: int = MAX_OBJECT) -> None:
        """Write the body to ``sink`` and check it; raise :class:`S3Error` if it does not match its headers."""
        if self.length is not None and self.length > limit:
            raise S3Error(
                "EntityTooLarge",
                "Your proposed upload exceeds the maximum allowed size",
                details={"ProposedSize": str(self.length), "MaxSizeAllowed": str(limit)},
            )
        for algorithm in (*self._announced, *self._trailing):
            self.want(algorithm)
        working: asyncio.Future[None] | None = None
        try:
            block, more = await self._block()
            if not more:
                # A small body takes one call on a thread.
                await self._run(self._take_all, sink, block, limit)
                return
            working = asyncio.ensure_future(self._run(self._take, sink, block, limit))
            while more:
                block, more = await self._block()
                if working is not None:
                    await working
                    working = None
                if block:
                    working = asyncio.ensure_future(self._run(self._take, sink, block, limit))
            if working is not None:
                await working
        except BaseException:
            if working is not None:
                await asyncio.wait([working])
            raise
        await self._run(self._check)

    async def _block(self) -> tuple[bytes, bool]:
        pieces: list[bytes] = []
        size = 0
        while size < _BLOCK:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise S3Error(
                    "IncompleteBody", "You did not provide the number of bytes specified by the request's headers."
                )
            piece = message.get("body", b"")
            pieces.append(piece)
            size += len(piece)
            if not message.get("more_body", False):
                return b"".join(pieces), False
        return b"".join(pieces), True

    def _take_all(self, sink: Sink, block: bytes, limit: int) -> None:
        if block:
            self._take(sink, block, limit)
        self._check()

    def _take(self, sink: Sink, block: bytes, limit: int) -> None:
        if self._sha256 is not None:
            self._sha256.update(block)
        # Joined, because a client may send chunks of one byte, and each piece takes its own calls to hash and write.
        piece = block if self._chunks is None else b"".join(self._chunks.feed(block))
        self._size += len(piece)
        if self._size > (limit if self.length is None else self.length):
            raise S3Error("IncompleteBody", "The body is longer than the request's headers say, or than it may be.")
        for checksum in self.checksums.values():
            checksum.update(piece)
        if self._md5 is not None:
            self._md5.update(piece)
        sink.write(piece)

    def _check(self) -> None:
        if self.length is not None and self._size != self.length:
            raise S3Error("IncompleteBody", "You did not provide the number of bytes specified by the request's headers.")
        if self._chunks is not None and not self._chunks.complete:
            raise _malformed()
        if self._sha256 is not None and self._sha256.hexdigest() != self._payload.sha256:
            raise S3Error(
                "XAmzContentSHA256Mismatch",
                "The provided 'x-amz-content-sha256' header does not match what was computed.",
                details={
                    "ClientComputedContentSHA256": self._payload.sha256 or "",
                    "S3ComputedContentSHA256": self._sha256.hexdigest(),
                },
            )
        if self._md5 is not None:
            self._check_md5()
        declared = dict(self._announced)
        if self._chunks is not None:
            declared |= declared_checksums(self._chunks.trailer)
        for algorithm in self._trailing:
            if algorithm not in declared:
                raise S3Error("MalformedXML", f"The trailer {header_of(algorithm)} that the request announces is missing.")
        for algorithm, value in declared.items():
            checksum = self.checksums.get(algorithm)
            if checksum is None or checksum.text() != value:
                raise S3Error("BadDigest", f"The {algorithm} you specified did not match the calculated checksum.")

    def _check_md5(self) -> None:
        assert self._md5 is not None
        try:
            digest = base64.b64decode(self._headers["content-md5"], validate=True)
        except ValueError:
            digest = b""
        if len(digest) != 16:
            raise S3Error("InvalidDigest", "The Content-MD5 you specified was invalid.")
        if digest != self._md5.digest():
            raise S3Error("BadDigest", "The Content-MD5 you specified did not match what we received.")


class _Memory:
    def __init__(self, limit: int) -> None:
        self.data = bytearray()
        self._limit = limit

    def write(self, data: bytes) -> None:
        if len(self.data) + len(data) > self._limit:
            raise S3Error("EntityTooLarge", "The request's body is larger than it may be.")
        self.data += data

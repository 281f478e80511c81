"""The threads of one process that work on files, and the bounds of requests in flight."""

import asyncio
import contextlib
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from penstock.lake.objects.errors import S3Error

__all__ = ["MAX_REQUESTS", "Work"]

MAX_REQUESTS = 256
"""Requests in flight; each holds up to two blocks of 512 KiB, so all of them up to 256 MiB."""
_THREADS = 16
_MOST_DOCUMENTS = 64
_DOCUMENTS_OF_ONE = 16


class Work:
    """Runs blocking functions on threads, and bounds the number of requests in flight."""

    def __init__(self, *, threads: int = _THREADS, requests: int = MAX_REQUESTS) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="s3")
        # One thread: two that parse would keep the interpreter lock between them, and the event loop would wait for both.
        self._parser = ThreadPoolExecutor(1, thread_name_prefix="s3-documents")
        self._requests = requests
        self._admitted = 0
        self._documents: Counter[str] = Counter()

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call the function on a thread; return or raise what it does."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)

    async def read(self, descriptor: int, size: int, offset: int) -> bytes:
        """Return bytes of an open file."""
        content: bytes = await self.run(os.pread, descriptor, size, offset)
        return content

    @contextlib.asynccontextmanager
    async def admitted(self) -> AsyncIterator[None]:
        """Hold a request's place; raise :class:`S3Error`, on which clients wait and retry, if all are taken."""
        if self._admitted >= self._requests:
            raise S3Error("SlowDown", "Please reduce your request rate.")
        self._admitted += 1
        try:
            yield
        finally:
            self._admitted -= 1

    @contextlib.contextmanager
    def document(self, owner: str) -> Iterator[None]:
        """Hold a place for an XML document in memory; raise :class:`S3Error`, on which clients wait, if all are taken."""
        if self._documents[owner] >= _DOCUMENTS_OF_ONE or self._documents.total() >= _MOST_DOCUMENTS:
            raise S3Error("SlowDown", "Please reduce your request rate.")
        self._documents[owner] += 1
        try:
            yield
        finally:
            self._documents[owner] -= 1
            if not self._documents[owner]:
                del self._documents[owner]

    async def parse(self, function: Callable[[], Any]) -> Any:
        """Call a function that parses a document, one at a time; return or raise what it does."""
        return await asyncio.get_running_loop().run_in_executor(self._parser, function)

    def close(self) -> None:
        """Stop the threads after their work is done."""
        self._pool.shutdown(wait=True)
        self._parser.shutdown(wait=True)

"""A plain TCP balancer: a connection goes to the next backend that is ready, and is not looked into."""

import asyncio
import contextlib
import threading
from collections.abc import Sequence

__all__ = ["Balancer"]

_CHECK_SECONDS = 0.2
_ANSWER_SECONDS = 1.0
_FALL = 3  # checks without an answer in a row, as HAProxy's "fall"; one that says "not ready" is enough
_PIECE = 65_536


class Balancer:
    """Listens on :attr:`port` for the ports of ``backends``; those whose ``/readyz`` is 200 get the connections in turn."""

    def __init__(self, backends: Sequence[int]) -> None:
        self._backends = backends
        self._ready: list[int] = []
        self._turn = 0
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._listener = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port: int = self._listener.sockets[0].getsockname()[1]
        self._thread = threading.Thread(target=self._run, name="balancer", daemon=True)
        self._thread.start()

    @property
    def ready(self) -> Sequence[int]:
        """The backends that get connections now."""
        return tuple(self._ready)

    def close(self) -> None:
        """Close all connections."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        checks = [self._loop.create_task(self._check(port)) for port in self._backends]
        self._loop.run_forever()
        self._listener.close()
        for task in (*checks, *self._tasks):
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*checks, *self._tasks, return_exceptions=True))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    async def _check(self, port: int) -> None:
        unanswered = 0
        while True:
            ready = await self._is_ready(port)
            unanswered = unanswered + 1 if ready is None else 0
            if ready and port not in self._ready:
                self._ready.append(port)
            elif (ready is False or unanswered == _FALL) and port in self._ready:
                self._ready.remove(port)
            await asyncio.sleep(_CHECK_SECONDS)

    async def _is_ready(self, port: int) -> bool | None:
        """Return what the backend answers, None if it does not."""
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                with contextlib.closing(writer):
                    writer.write(b"GET /readyz HTTP/1.0\r\n\r\n")
                    line = await reader.readline()
                    return b" 200 " in line if line else None
        except (OSError, TimeoutError):
            return None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            # Cancelled by close(), of which asyncio's callback would complain.
            with contextlib.closing(writer), contextlib.suppress(OSError, asyncio.CancelledError):
                await self._forward(reader, writer)
        finally:
            self._tasks.discard(task)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in self._backends:
            ready = self.ready
            if not ready:
                return
            self._turn += 1
            with contextlib.suppress(OSError):
                there, back = await asyncio.open_connection("127.0.0.1", ready[self._turn % len(ready)])
                break
        else:
            return
        with contextlib.closing(back):
            copies = [asyncio.ensure_future(_copy(reader, back)), asyncio.ensure_future(_copy(there, writer))]
            try:
                # Where one side closes, so does the other: HTTP has no half-open connections.
                await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for copy in copies:
                    copy.cancel()
                await asyncio.gather(*copies, return_exceptions=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while piece := await reader.read(_PIECE):
            writer.write(piece)
            await writer.drain()

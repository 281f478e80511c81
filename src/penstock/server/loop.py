"""The event loop of our servers: uvloop's, with less patience for a TLS handshake than its minute."""

from typing import Any

import uvloop

__all__ = ["HANDSHAKE_SECONDS", "ServerLoop"]

HANDSHAKE_SECONDS = 10.0


class ServerLoop(uvloop.Loop):
    """uvicorn starts its listeners itself and passes no deadline on."""

    async def create_server(self, *arguments: Any, **named: Any) -> Any:
        """A listener; one with TLS gives each handshake :data:`HANDSHAKE_SECONDS`."""
        if named.get("ssl") is not None:
            named.setdefault("ssl_handshake_timeout", HANDSHAKE_SECONDS)
        return await super().create_server(*arguments, **named)

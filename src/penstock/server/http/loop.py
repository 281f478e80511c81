"""The event loop of our servers: uvloop's, with less patience for the begin and the end of TLS than a minute."""

from typing import Any

import uvloop

__all__ = ["HANDSHAKE_SECONDS", "ServerLoop"]

HANDSHAKE_SECONDS = 10.0
_GOODBYE_SECONDS = 2.0  # a client in a pool does not answer that we close; RFC 8446 section 6.1 lets us not wait


class ServerLoop(uvloop.Loop):
    """uvicorn starts its listeners itself and passes no deadline on."""

    async def create_server(self, *arguments: Any, **named: Any) -> Any:
        """A listener; one with TLS gives each handshake :data:`HANDSHAKE_SECONDS`."""
        if named.get("ssl") is not None:
            named.setdefault("ssl_handshake_timeout", HANDSHAKE_SECONDS)
            named.setdefault("ssl_shutdown_timeout", _GOODBYE_SECONDS)
        return await super().create_server(*arguments, **named)

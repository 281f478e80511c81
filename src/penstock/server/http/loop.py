"""The event loop of the servers: uvloop's, with shorter timeouts than a minute for the start and end of TLS."""

from typing import Any

import uvloop

__all__ = ["HANDSHAKE_SECONDS", "ServerLoop"]

HANDSHAKE_SECONDS = 10.0
_GOODBYE_SECONDS = 2.0  # a pooled client does not answer close_notify; RFC 8446 section 6.1 requires no wait


class ServerLoop(uvloop.Loop):
    """Sets the deadlines that uvicorn does not pass to the listeners that it starts."""

    async def create_server(self, *arguments: Any, **named: Any) -> Any:
        """Return a listener; with TLS, each handshake has :data:`HANDSHAKE_SECONDS`."""
        if named.get("ssl") is not None:
            named.setdefault("ssl_handshake_timeout", HANDSHAKE_SECONDS)
            named.setdefault("ssl_shutdown_timeout", _GOODBYE_SECONDS)
        return await super().create_server(*arguments, **named)

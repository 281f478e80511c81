"""Liveness probes: cheap requests without a login, sent to a part as long as it runs.

They do not test readiness: a server that cannot reach its store answers, and restarting it would not help.
"""

import http.client
import socket
import ssl
import struct

__all__ = ["answers_http", "answers_kafka"]

# Kafka protocol guide: ApiVersions (key 18) version 0, correlation id 1, a client id; served before a login.
_API_VERSIONS = struct.pack(">hhih", 18, 0, 1, 8) + b"penstock"


def answers_http(host: str, port: int, path: str, seconds: float, *, tls: ssl.SSLContext | None = None) -> bool:
    """Return whether an HTTP server answers ``GET path`` within ``seconds``, with any status."""
    connection = (
        http.client.HTTPConnection(host, port, timeout=seconds)
        if tls is None
        else http.client.HTTPSConnection(host, port, timeout=seconds, context=tls)
    )
    try:
        connection.request("GET", path)
        connection.getresponse()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True


def answers_kafka(host: str, port: int, seconds: float, *, tls: ssl.SSLContext | None = None) -> bool:
    """Return whether a broker answers an ApiVersions request within ``seconds``."""
    try:
        with socket.create_connection((host, port), timeout=seconds) as plain:
            connection = plain if tls is None else tls.wrap_socket(plain, server_hostname=host)
            with connection:
                connection.sendall(struct.pack(">i", len(_API_VERSIONS)) + _API_VERSIONS)
                # Length, correlation id, error code.
                return len(connection.recv(10)) > 0
    except OSError:
        return False

"""TCP ports of the embedded platform: whether they are free, and whether they answer."""

import contextlib
import errno
import socket
from collections.abc import Iterable
from dataclasses import dataclass

from penstock.errors import EnvironmentProblem

__all__ = ["PortClaim", "answers", "check_ports", "free_ports"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PortClaim:
    """A port of a part, and the option that changes it."""

    port: int
    part: str
    option: str


def check_ports(host: str, claims: Iterable[PortClaim]) -> None:
    """Raise :class:`EnvironmentProblem` for the first port on which ``host`` cannot listen."""
    claims_by_port: dict[int, PortClaim] = {}
    for claim in claims:
        if other := claims_by_port.get(claim.port):
            raise EnvironmentProblem(
                f"Port {claim.port} is used twice: by the {other.part} and by the {claim.part}.",
                remedy=f"Choose another one with {claim.option} PORT.",
            )
        claims_by_port[claim.port] = claim
        with socket.socket(_family(host), socket.SOCK_STREAM) as probe:
            # As servers do, so that connections of a stopped platform (TIME_WAIT) do not count.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, claim.port))
            except OSError as error:
                why = "is taken" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
                raise EnvironmentProblem(
                    f"Port {claim.port} on {host} {why}; the {claim.part} needs it.",
                    remedy=f"Choose another one with {claim.option} PORT, or stop the program that listens there.",
                ) from error


def answers(host: str, port: int) -> bool:
    """Return whether a server accepts a connection."""
    with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=1):
        return True
    return False


def free_ports(count: int, host: str = "127.0.0.1") -> list[int]:
    """Return ``count`` different ports on which nothing listens now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket(_family(host), socket.SOCK_STREAM)) for _ in range(count)]
        for open_socket in sockets:
            open_socket.bind((host, 0))
        return [open_socket.getsockname()[1] for open_socket in sockets]


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET

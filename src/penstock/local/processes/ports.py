"""TCP ports of the embedded platform: which are free, and who answers."""

import contextlib
import errno
import socket
from collections.abc import Iterable
from dataclasses import dataclass

from penstock.errors import EnvironmentProblem

__all__ = ["PortClaim", "answers", "check_ports", "free_ports"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PortClaim:
    """A part that wants a port, and the option that gives it another one."""

    port: int
    part: str
    option: str


def check_ports(host: str, claims: Iterable[PortClaim]) -> None:
    """Raise :class:`EnvironmentProblem` for the first port on which ``host`` cannot listen."""
    seen: dict[int, PortClaim] = {}
    for claim in claims:
        if other := seen.get(claim.port):
            raise EnvironmentProblem(
                f"Port {claim.port} is asked for twice: by the {other.part} and by the {claim.part}.",
                remedy=f"Choose another one with {claim.option} PORT.",
            )
        seen[claim.port] = claim
        with socket.socket(_family(host), socket.SOCK_STREAM) as probe:
            # As servers do, so that connections of a platform just stopped (TIME_WAIT) do not count.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, claim.port))
            except OSError as error:
                why = "is taken" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
                raise EnvironmentProblem(
                    f"Port {claim.port} on {host} {why}; the {claim.part} wants it.",
                    remedy=f"Choose another one with {claim.option} PORT, or stop what listens there.",
                ) from error


def answers(host: str, port: int) -> bool:
    """Whether something accepts a connection."""
    with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=1):
        return True
    return False


def free_ports(count: int, host: str = "127.0.0.1") -> list[int]:
    """``count`` different ports that nobody listens on right now."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket(_family(host), socket.SOCK_STREAM)) for _ in range(count)]
        for each in sockets:
            each.bind((host, 0))
        return [each.getsockname()[1] for each in sockets]


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET

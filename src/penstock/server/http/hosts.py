"""Checks the Host header: for which hosts a server answers.

The owner of a web page's host name can change its address to 127.0.0.1 (DNS rebinding). A browser then sends the page's
requests to this server, as if it were the page's own. The Host header still has that name. A server on a loopback address
therefore answers only for loopback names and for allowed ones.
"""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from penstock.errors import InvalidInput
from penstock.settings.addresses import is_loopback

__all__ = ["HostRule", "host_of", "host_rule"]

# RFC 9110 section 7.2 and RFC 3986 section 3.2.2: an IPv6 address in brackets, or a name or IPv4 address; perhaps a port.
_HOST = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[\w.~!$&'()*+,;=%-]+)(?::[0-9]{0,5})?")  # \w of bytes is ASCII
_NAME = re.compile(r"\.?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")


@lru_cache(maxsize=1024)
def host_of(header: bytes) -> str | None:
    """Return the host of a Host header's value, in lower case and without port; None if it has none."""
    match = _HOST.fullmatch(header)
    return None if match is None else match[1].decode("ascii").strip("[]").lower()


@dataclass(frozen=True, slots=True)
class HostRule:
    """The permitted hosts: exact ``names``, and subdomains of ``domains`` (``.example.com``)."""

    names: frozenset[str]
    domains: tuple[str, ...]

    def permits(self, host: str, local_address: str | None = None) -> bool:
        """Return whether ``host`` is permitted on a connection that arrived at ``local_address``.

        The address itself always is: it is not a name, whose address could change.
        """
        if host in self.names or host == local_address or is_loopback(host):
            return True
        return any(host.endswith(domain) for domain in self.domains)


def host_rule(bound: str, allowed: Iterable[str] = ()) -> HostRule | None:
    """Return the rule for a server bound to ``bound``; None permits every host.

    An address that is not loopback permits every host unless some are ``allowed``, because its names are not known. A name
    with a leading dot allows all its subdomains. Raises :class:`InvalidInput` for an invalid name.
    """
    names = [name.lower().strip("[]") for name in allowed]
    for name in names:
        if not _NAME.fullmatch(name) and not _is_address(name):
            raise InvalidInput(
                f"'{name}' is not a host name.",
                remedy="Give a name or an address without scheme and port, such as lake.example.com.",
            )
    if not names and not is_loopback(bound):
        return None
    # Browsers resolve every name below localhost to this machine themselves (RFC 6761 section 6.3).
    domains = (".localhost", *(name for name in names if name.startswith(".")))
    return HostRule(frozenset(["localhost", *names, bound.lower().strip("[]")]), domains)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True

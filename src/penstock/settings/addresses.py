"""Loopback addresses, and the check of listeners on other addresses."""

import ipaddress

from penstock.errors import InvalidInput

__all__ = ["check_plain", "is_loopback", "is_wildcard"]


def check_plain(host: str, *, tls: bool, insecure: bool) -> None:
    """Raise :class:`InvalidInput` for a listener on a network without TLS, unless ``insecure`` is set."""
    if not tls and not insecure and not is_loopback(host):
        raise InvalidInput(
            f"{host} is not a loopback address, and without TLS anyone on the network can read the traffic.",
            remedy="Give --tls-certificate and --tls-key ('penstock up' makes its own with --tls); behind a proxy with TLS, "
            "--insecure-plain-http.",
        )


def is_loopback(host: str) -> bool:
    """Return whether ``host``, a name or an address, is this machine's loopback, reachable only from this machine."""
    if host.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def is_wildcard(host: str) -> bool:
    """Return whether ``host`` stands for all addresses of a machine, so that it cannot be a client's endpoint."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return not host

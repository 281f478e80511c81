"""Which addresses lead to this machine alone."""

import ipaddress

__all__ = ["is_loopback", "is_wildcard"]


def is_loopback(host: str) -> bool:
    """Whether ``host``, a name or an address, is this machine's loopback: what is bound to it is reached from here alone."""
    if host.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def is_wildcard(host: str) -> bool:
    """Whether ``host`` stands for all addresses of a machine, so that no client can be told to go there."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return not host

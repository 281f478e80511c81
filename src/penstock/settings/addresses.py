"""Which addresses lead to this machine alone, and what is refused on others."""

import ipaddress

from penstock.errors import InvalidInput

__all__ = ["check_plain", "is_loopback", "is_wildcard"]


def check_plain(host: str, *, tls: bool, insecure: bool) -> None:
    """Raise :class:`InvalidInput` for a listener on a network without TLS, unless ``insecure`` asks for it."""
    if not tls and not insecure and not is_loopback(host):
        raise InvalidInput(
            f"{host} is not a loopback address, and without TLS whoever is on the network reads what is sent.",
            remedy="Give --tls-certificate and --tls-key ('penstock up' makes its own with --tls); where a proxy has TLS, "
            "--insecure-plain-http.",
        )


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

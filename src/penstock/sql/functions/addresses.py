"""The type ipaddress: 16 bytes in the order of the network, in which an IPv4 address is the IPv6 address that maps it.

The order of the bytes is Trino's order of addresses. Sources: Trino's documentation, "IP address functions" and the type
IPADDRESS; Trino's own tests of its casts and of ``contains``.
"""

import re
from collections.abc import Sequence
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from penstock.sql.functions.python import by_row, invalid
from penstock.sql.functions.rows import Definition

__all__ = ["DEFINITIONS", "address_text"]

_MAPPED = bytes(10) + b"\xff\xff"  # before the four bytes of an IPv4 address
_PREFIX = re.compile(r"[+-]?[0-9]{1,9}")
_SHOWN = 100  # characters of a value in a message


def address_text(value: bytes) -> str:
    """Return an address as Trino prints it: ``10.0.0.1``, ``2001:db8::1``."""
    return str(_address(value))


def _address(value: bytes) -> IPv4Address | IPv6Address:
    return IPv4Address(value[12:]) if value.startswith(_MAPPED) else IPv6Address(value)


def _read(value: str) -> bytes | None:
    try:
        if ":" not in value:
            return _MAPPED + IPv4Address(value).packed
        return None if "%" in value else IPv6Address(value).packed
    except AddressValueError:
        return None


def _of_text(value: str) -> bytes:
    read = _read(value)
    if read is None:
        raise invalid(f"Cannot cast value to IPADDRESS: {value[:_SHOWN]}", code="INVALID_CAST_ARGUMENT")
    return read


def _of_binary(value: bytes) -> bytes:
    if len(value) not in {4, 16}:
        raise invalid(f"Invalid IP address binary length: {len(value)}", code="INVALID_CAST_ARGUMENT")
    return value if len(value) == 16 else _MAPPED + value


def _contains(network: str, value: bytes) -> bool:
    address, separator, length = network.partition("/")
    if not separator:
        raise invalid("Invalid CIDR")
    read = _read(address)
    if read is None:
        raise invalid("Invalid network IP address")
    base, other = _address(read), _address(value)
    if not _PREFIX.fullmatch(length) or int(length) < 0:
        raise invalid("Invalid prefix length")
    rest = base.max_prefixlen - int(length)
    if rest < 0:
        raise invalid("Prefix length exceeds address length")
    if base.version == 4 and int(base) & ((1 << rest) - 1):
        raise invalid("Invalid CIDR")
    return base.version == other.version and int(base) >> rest == int(other) >> rest


DEFINITIONS: Sequence[Definition] = [
    by_row("trino_address_of_text", ["VARCHAR"], "BLOB", _of_text),
    by_row("trino_address_of_binary", ["BLOB"], "BLOB", _of_binary),
    by_row("trino_address_text", ["BLOB"], "VARCHAR", address_text),
    by_row("trino_network_contains", ["VARCHAR", "BLOB"], "BOOLEAN", _contains),
]

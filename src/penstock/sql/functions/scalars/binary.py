"""Functions of bytes: encodings, hashes, and the byte-wise forms of string functions.

Source: Trino's documentation, "Binary functions and operators".
"""

import base64
import binascii
import hashlib
import hmac
import struct
import zlib
from collections.abc import Callable, Sequence

from sqlglot import exp

from penstock.sql.functions.hashes import murmur3, xxhash64
from penstock.sql.functions.python import by_row, invalid
from penstock.sql.functions.rows import Call, Definition, Macro, Row, call_engine, refuse
from penstock.sql.trino_types import BIGINT, DOUBLE, INTEGER, REAL, VARBINARY, VARCHAR, Type

__all__ = ["DEFINITIONS", "ROWS"]


def _digest(name: str) -> Callable[[bytes], bytes]:
    return lambda value: hashlib.new(name, value).digest()


def _keyed(name: str) -> Callable[[bytes, bytes], bytes]:
    return lambda value, key: hmac.new(key, value, name).digest()


def _decoder(decode: Callable[[str], bytes]) -> Callable[[str], bytes]:
    def read(value: str) -> bytes:
        try:
            return decode(value)
        except (binascii.Error, ValueError) as error:
            raise invalid(f"{str(error).rstrip('.')}: {value[:100]}") from None

    return read


def _base64(value: str) -> bytes:
    return base64.b64decode(value + "=" * (-len(value) % 4), validate=True)


def _base64url(value: str) -> bytes:
    return base64.b64decode(value + "=" * (-len(value) % 4), altchars=b"-_", validate=True)


def _hex(value: str) -> bytes:
    if len(value) % 2:
        raise ValueError("expected an even number of hex digits")
    return binascii.unhexlify(value)


def _packed(form: str) -> Callable[[object], bytes]:
    return lambda value: struct.pack(form, value)


def _unpacked(form: str) -> Callable[[bytes], object]:
    size = struct.calcsize(form)

    def read(value: bytes) -> object:
        if len(value) != size:
            raise invalid(f"expected {size}-byte input, but got instead: {len(value)}")
        return struct.unpack(form, value)[0]

    return read


def _padded(left: bool) -> Callable[[bytes, int, bytes], bytes]:
    def pad(value: bytes, size: int, padding: bytes) -> bytes:
        if size < 0:
            raise invalid("Target length must be in the range [0..2147483647]")
        if not padding:
            raise invalid("Padding bytes must not be empty")
        missing = size - len(value)
        if missing <= 0:
            return value[:size]
        filling = (padding * (missing // len(padding) + 1))[:missing]
        return filling + value if left else value + filling

    return pad


def _part(value: bytes, start: int, size: int | None = None) -> bytes:
    if start == 0 or (start < 0 and -start > len(value)) or (size is not None and size <= 0):
        return b""
    at = start - 1 if start > 0 else len(value) + start
    return value[at:] if size is None else value[at : at + size]


def _text(value: bytes) -> str:
    return value.decode("ascii")


# Name, parameters, result in the engine's words, result in Trino's, the function.
_FUNCTIONS: Sequence[tuple[str, Sequence[str], str, Type, Callable[..., object]]] = [
    ("to_base64", ["BLOB"], "VARCHAR", VARCHAR, lambda value: _text(base64.b64encode(value))),
    ("from_base64", ["VARCHAR"], "BLOB", VARBINARY, _decoder(_base64)),
    ("to_base64url", ["BLOB"], "VARCHAR", VARCHAR, lambda value: _text(base64.urlsafe_b64encode(value))),
    ("from_base64url", ["VARCHAR"], "BLOB", VARBINARY, _decoder(_base64url)),
    ("to_base32", ["BLOB"], "VARCHAR", VARCHAR, lambda value: _text(base64.b32encode(value))),
    ("from_base32", ["VARCHAR"], "BLOB", VARBINARY, _decoder(lambda value: base64.b32decode(value, casefold=True))),
    ("from_hex", ["VARCHAR"], "BLOB", VARBINARY, _decoder(_hex)),
    ("to_big_endian_32", ["INTEGER"], "BLOB", VARBINARY, _packed(">i")),
    ("from_big_endian_32", ["BLOB"], "INTEGER", INTEGER, _unpacked(">i")),
    ("to_big_endian_64", ["BIGINT"], "BLOB", VARBINARY, _packed(">q")),
    ("from_big_endian_64", ["BLOB"], "BIGINT", BIGINT, _unpacked(">q")),
    ("to_ieee754_32", ["FLOAT"], "BLOB", VARBINARY, _packed(">f")),
    ("from_ieee754_32", ["BLOB"], "FLOAT", REAL, _unpacked(">f")),
    ("to_ieee754_64", ["DOUBLE"], "BLOB", VARBINARY, _packed(">d")),
    ("from_ieee754_64", ["BLOB"], "DOUBLE", DOUBLE, _unpacked(">d")),
    ("crc32", ["BLOB"], "BIGINT", BIGINT, zlib.crc32),
    ("sha512", ["BLOB"], "BLOB", VARBINARY, _digest("sha512")),
    ("murmur3", ["BLOB"], "BLOB", VARBINARY, murmur3),
    ("xxhash64", ["BLOB"], "BLOB", VARBINARY, lambda value: xxhash64(value).to_bytes(8, "big")),
    *((f"hmac_{name}", ["BLOB", "BLOB"], "BLOB", VARBINARY, _keyed(name)) for name in ("md5", "sha1", "sha256", "sha512")),
]


def _row(name: str, engine: str, parameters: Sequence[str], returns: Type) -> Row:
    """Return the row of a function that takes bytes where the engine would also take text."""
    expected = ", ".join({"BLOB": "varbinary", "FLOAT": "real"}.get(item, item.lower()) for item in parameters)

    def write(call: Call) -> exp.Expr:
        for type_, parameter in zip(call.types, parameters, strict=True):
            if type_ is not None and type_.name != "unknown" and (type_.name == "varbinary") != (parameter == "BLOB"):
                raise call.unexpected(f"{name}({expected})")
        return call_engine(engine, *call.arguments)

    return Row(name, arity=len(parameters), returns=returns, write=write)


_DIGESTS = ("md5", "sha1", "sha256")  # those that the engine has

ROWS: Sequence[Row] = [
    *(_row(name, f"trino_{name}", parameters, type_) for name, parameters, _, type_, _ in _FUNCTIONS),
    *(_row(name, f"trino_{name}", ["BLOB"], VARBINARY) for name in _DIGESTS),
    _row("to_hex", "hex", ["BLOB"], VARCHAR),
    *refuse("spooky_hash_v2_32 spooky_hash_v2_64", "this hash is not implemented here", "Use xxhash64 or murmur3."),
    *refuse("zstd_compress zstd_decompress", "Athena engine version 3 has no such function"),
]

DEFINITIONS: Sequence[Definition] = [
    *(Macro(f"trino_{name}", f"(x) AS unhex({name}(x))") for name in _DIGESTS),
    *(by_row(f"trino_{name}", parameters, engine, function) for name, parameters, engine, _, function in _FUNCTIONS),
    by_row("trino_lpad_binary", ["BLOB", "BIGINT", "BLOB"], "BLOB", _padded(True)),
    by_row("trino_rpad_binary", ["BLOB", "BIGINT", "BLOB"], "BLOB", _padded(False)),
    by_row("trino_subbinary2", ["BLOB", "BIGINT"], "BLOB", _part),
    by_row("trino_subbinary3", ["BLOB", "BIGINT", "BIGINT"], "BLOB", _part),
    by_row("trino_reverse_binary", ["BLOB"], "BLOB", lambda value: value[::-1]),
]

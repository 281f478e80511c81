"""Checks that a pattern cannot make: check digits, numbers that are never given out, days that exist."""

import ipaddress
import re
from datetime import date

__all__ = [
    "is_card",
    "is_date",
    "is_dea_number",
    "is_ip_address",
    "is_itin",
    "is_nhs_number",
    "is_phone_number",
    "is_provider_identifier",
    "is_ssn",
    "luhn",
]

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ITIN_GROUPS = frozenset([*range(50, 66), *range(70, 89), *range(90, 93), *range(94, 100)])
_E164_DIGITS = range(8, 16)
_NORTH_AMERICAN_DIGITS = 11


def _digits(text: str) -> list[int]:
    return [int(name) for name in text if name.isascii() and name.isdigit()]


def luhn(text: str) -> bool:
    """Return whether the digits of ``text`` end with their check digit (ISO/IEC 7812-1, annex B). All zeros do not."""
    digits = _digits(text)[::-1]
    total = sum(digits[::2]) + sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return total > 0 and total % 10 == 0


def is_card(text: str) -> bool:
    """Return whether it is a payment card's number; the first digit is that of a card's issuer."""
    return _digits(text)[0] in {2, 3, 4, 5, 6} and luhn(text)


def is_ssn(text: str) -> bool:
    """Return whether the number may have been given out: https://www.ssa.gov/employer/randomization.html."""
    digits = "".join(str(digit) for digit in _digits(text))
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    return area not in {"000", "666"} and area < "900" and group != "00" and serial != "0000"


def is_itin(text: str) -> bool:
    """Return whether the fourth and fifth digit are in a range that the IRS uses (Publication 4757)."""
    digits = _digits(text)
    return digits[0] == 9 and digits[3] * 10 + digits[4] in _ITIN_GROUPS


def is_provider_identifier(text: str) -> bool:
    """Return whether it has the check digit of a National Provider Identifier: Luhn's, with 80840 before it (45 CFR 162)."""
    return luhn(f"80840{text}")


def is_dea_number(text: str) -> bool:
    """Return whether the last digit is that of the sum of the odd ones and twice the even ones (21 CFR 1301)."""
    digits = _digits(text)[-7:]
    return (sum(digits[:6:2]) + 2 * sum(digits[1:6:2])) % 10 == digits[6]


def is_nhs_number(text: str) -> bool:
    """Return whether it has the check digit modulo 11 of the NHS Data Dictionary."""
    digits = _digits(text)
    rest = 11 - sum(digit * (10 - index) for index, digit in enumerate(digits[:9])) % 11
    return rest % 11 == digits[9] and rest != 10 and any(digits)


def is_phone_number(text: str) -> bool:
    """Return whether a number with + has a length of E.164, and one of +1 that of North America."""
    count = len(_digits(text))
    if text.startswith("+1"):
        return count == _NORTH_AMERICAN_DIGITS
    return not text.startswith("+") or count in _E164_DIGITS


def is_ip_address(text: str) -> bool:
    """Return whether it is an address of IPv4 or IPv6."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return text != "::"


def is_date(text: str) -> bool:
    """Return whether the day exists, read with the day or with the month first."""
    parts = re.findall(r"[0-9]+|[a-z]+", text.lower())
    names = [_MONTHS.index(part[:3]) + 1 for part in parts if part[:3] in _MONTHS]
    numbers = [int(part) for part in parts if part.isdigit()]
    if names:
        return _exists(numbers[-1], names[0], numbers[0])
    if len(parts[0]) == 4:
        return _exists(*numbers)
    first, second, year = numbers
    return _exists(year, first, second) or _exists(year, second, first)


def _exists(year: int, month: int, day: int) -> bool:
    try:
        date(year if year > 99 else 2000 + year, month, day)
    except ValueError:
        return False
    return True

"""The types of entities that are detected: a pattern and a check for each. Needs no Spark.

AWS does not publish its own patterns, so what is found differs at the edges. Types that need a model (names of persons) or
have no form of their own (licences and bank accounts of any issuer) are not here, and are refused by name.
All patterns are bounded in length, so the time to search a text grows with its length only.

Source of the names: https://docs.aws.amazon.com/glue/latest/dg/sensitive-data-managed-data-types.html
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.glue.entities import checks

__all__ = ["TYPES", "EntityType"]

# Not within a word or a number, nor behind or before a part of one: 1-23.
_BEFORE, _AFTER = r"(?<!\w)(?<![0-9][-.])", r"(?!\w)(?![-.][0-9])"
_NAMES = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]{0,6}"
# A time may follow a day.
_END = r"(?![0-9])(?![-/.][0-9])"
_IPV4 = r"(?<![\w.])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?!\.?\w)"
_IPV6 = r"(?<![\w:.])[0-9A-F]{0,4}(?::[0-9A-F]{0,4}){2,7}(?:(?:\.[0-9]{1,3}){3})?(?![\w:]|\.\w)"
_LABEL = r"[A-Z0-9](?:[A-Z0-9-]{0,61}[A-Z0-9])?"


@dataclass(frozen=True, slots=True)
class EntityType:
    """A text has to match one of ``patterns``, and what matched has to pass ``check``; ``about`` is for people."""

    about: str
    patterns: Sequence[re.Pattern[str]]
    check: Callable[[str], bool] | None = None

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield start and end of each entity in ``text``; of those that overlap the first and longest one."""
        last = 0
        for start, end in sorted(self._spans(text), key=lambda span: (span[0], -span[1])):
            if start >= last:
                yield start, end
                last = end

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        for pattern in self.patterns:
            at = 0
            while (match := pattern.search(text, at)) is not None:
                passed = self.check is None or self.check(match[0])
                if passed:
                    yield match.span()
                # What fails the check may hide one that begins later.
                at = match.end() if passed else match.start() + 1


def _whole(*patterns: str) -> Sequence[re.Pattern[str]]:
    return [re.compile(f"{_BEFORE}(?:{pattern}){_AFTER}", re.ASCII | re.IGNORECASE) for pattern in patterns]


def _bounded(*patterns: str) -> Sequence[re.Pattern[str]]:
    """Patterns that have their own bounds."""
    return [re.compile(pattern, re.ASCII | re.IGNORECASE) for pattern in patterns]


TYPES: Mapping[str, EntityType] = {
    "EMAIL": EntityType(
        "an address with @ and a domain",
        _bounded(rf"(?<![\w.%+'-])[\w.%+'-]{{1,64}}@(?:{_LABEL}\.){{1,8}}[A-Za-z]{{2,63}}(?![\w-])"),
    ),
    "IP_ADDRESS": EntityType("of IPv4 or IPv6", _bounded(_IPV4, _IPV6), checks.is_ip_address),
    "MAC_ADDRESS": EntityType(
        "six pairs with : or -, or three groups with points",
        _bounded(
            r"(?<![\w:-])[0-9A-F]{2}([:-])(?:[0-9A-F]{2}\1){4}[0-9A-F]{2}(?![\w:-])",
            r"(?<![\w.])(?:[0-9A-F]{4}\.){2}[0-9A-F]{4}(?!\.?\w)",
        ),
    ),
    "CREDIT_CARD": EntityType(
        "13 to 19 digits in the groups of cards, with their check digit",
        _whole(
            r"[0-9]{4}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{4}",
            r"[0-9]{4}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{4}\1[0-9]{3}",
            r"3[0-9]{3}([ -])[0-9]{6}\1[0-9]{4,5}",
            r"[0-9]{13,19}",
        ),
        checks.is_card,
    ),
    "PHONE_NUMBER": EntityType(
        "of the USA and Canada, or with + and the country's code",
        _bounded(
            r"(?<![\w+])(?<![0-9][-.])(?:\+?1[-. ]?)?(?:\([2-9](?!11)[0-9]{2}\) ?|[2-9](?!11)[0-9]{2}[-. ]?)"
            r"[2-9](?!11)[0-9]{2}[-. ]?[0-9]{4}" + _AFTER,
            r"(?<![\w+])\+[1-9][0-9]{0,3}(?:[-. ]?\(?[0-9]{1,5}\)?){1,5}" + _AFTER,
        ),
        checks.is_phone_number,
    ),
    "DATE": EntityType(
        "year-month-day, day and month in either order, or with the month's name",
        _bounded(
            rf"{_BEFORE}[0-9]{{4}}([-/.])[0-9]{{1,2}}\1[0-9]{{1,2}}{_END}",
            rf"{_BEFORE}[0-9]{{1,2}}([-/.])[0-9]{{1,2}}\1(?:[0-9]{{4}}|[0-9]{{2}}){_END}",
            rf"{_BEFORE}{_NAMES}\.? [0-9]{{1,2}}(?:st|nd|rd|th)?,? [0-9]{{4}}{_END}",
            rf"{_BEFORE}[0-9]{{1,2}}(?:st|nd|rd|th)?[ -]{_NAMES}\.?,?[ -][0-9]{{4}}{_END}",
        ),
        checks.is_date,
    ),
    "USA_SSN": EntityType(
        "nine digits that may have been given out, also 3-2-4", _whole(r"[0-9]{3}([- ]?)[0-9]{2}\1[0-9]{4}"), checks.is_ssn
    ),
    "USA_ITIN": EntityType("as a USA_SSN, from 900", _whole(r"9[0-9]{2}([- ]?)[0-9]{2}\1[0-9]{4}"), checks.is_itin),
    "USA_PASSPORT_NUMBER": EntityType("any nine digits, or a letter and eight", _whole(r"[A-Z][0-9]{8}|[0-9]{9}")),
    "USA_HEALTH_INSURANCE_CLAIM_NUMBER": EntityType(
        "a USA_SSN and the letter of a beneficiary, with a digit or letter at most",
        _whole(r"[0-9]{3}([- ]?)[0-9]{2}\1[0-9]{4}[- ]?[A-Z][0-9A-Z]?"),
        lambda text: checks.is_ssn("".join(re.findall("[0-9]", text)[:9])),
    ),
    "USA_MEDICARE_BENEFICIARY_IDENTIFIER": EntityType(
        "the 11 places that CMS gives out, also 4-3-4",
        _whole(
            r"[1-9][AC-HJKMNP-RT-Y][0-9AC-HJKMNP-RT-Y][0-9](-?)[AC-HJKMNP-RT-Y][0-9AC-HJKMNP-RT-Y][0-9]\1"
            r"[AC-HJKMNP-RT-Y]{2}[0-9]{2}"
        ),
    ),
    "USA_NATIONAL_PROVIDER_IDENTIFIER": EntityType(
        "ten digits from 1 or 2, with their check digit", _whole(r"[12][0-9]{9}"), checks.is_provider_identifier
    ),
    "USA_NATIONAL_DRUG_CODE": EntityType(
        "4-4-2, 5-3-2, 5-4-1 or 5-4-2 digits",
        _whole(r"[0-9]{4}-[0-9]{4}-[0-9]{2}|[0-9]{5}-(?:[0-9]{3}-[0-9]{2}|[0-9]{4}-[0-9]{1,2})"),
    ),
    "USA_DEA_NUMBER": EntityType(
        "two letters, or one and 9, and seven digits with their check digit",
        _whole(r"[A-Z][A-Z9][0-9]{7}"),
        checks.is_dea_number,
    ),
    "USA_HCPCS_CODE": EntityType("any letter from A to V and four digits", _whole(r"[A-V][0-9]{4}")),
    "UK_NATIONAL_HEALTH_SERVICE_NUMBER": EntityType(
        "ten digits with their check digit, also 3-3-4",
        _whole(r"[0-9]{3}([- ]?)[0-9]{3}\1[0-9]{4}"),
        checks.is_nhs_number,
    ),
    "UK_NATIONAL_INSURANCE_NUMBER": EntityType(
        "two letters that HMRC uses, six digits and A to D",
        _whole(
            r"(?!BG|GB|NK|KN|TN|NT|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]",
        ),
    ),
}
"""The types by AWS's names."""

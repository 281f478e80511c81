"""Every rule type of AWS's reference: its parameters, what it is compared with, and whether it is served.

Source: AWS Glue Developer Guide, "DQDL rule type reference" (arguments, metrics, row-level results), and AWS's own parser
of DQDL (awslabs/dqdl).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["ANALYZERS", "RULE_TYPES", "RuleType"]

NUMBERS = frozenset({"number"})
ANYTHING = frozenset({"number", "date", "text"})


@dataclass(frozen=True, slots=True)
class RuleType:
    """A rule type. ``note`` is for the documentation, ``refused`` says why it is not served."""

    name: str
    parameters: tuple[int, int] = (0, 0)
    """The least and the greatest number of parameters."""
    conditions: frozenset[str] = frozenset()
    """The types of operands that its condition takes, none without a condition."""
    optional: bool = False
    """Whether it can be without a condition."""
    threshold: bool = False
    where: bool = True
    rows: bool = False
    """Whether it has a result for each row."""
    note: str = ""
    refused: str = ""
    remedy: str = ""


def _refused(names: str, refused: str, remedy: str) -> Sequence[RuleType]:
    return [RuleType(name, refused=refused, remedy=remedy) for name in names.split()]


_FILES = "rules about files read S3 without a frame"

_ALL: Sequence[RuleType] = [
    RuleType("AggregateMatch", (2, 2), NUMBERS, where=False, note="`sum` and `avg`, of `reference.column`, too."),
    RuleType("ColumnCorrelation", (2, 2), NUMBERS),
    RuleType("ColumnCount", (0, 0), NUMBERS, where=False),
    RuleType(
        "ColumnDataType",
        (1, 1),
        frozenset({"text"}),
        threshold=True,
        rows=True,
        note='Boolean, Date, Timestamp, Integer, Double, Float, Long, Decimal(p,s); `with "format" = …` for dates.',
    ),
    RuleType("ColumnExists", (1, 1), where=False),
    RuleType("ColumnLength", (1, 1), NUMBERS, threshold=True, rows=True),
    RuleType("ColumnNamesMatchPattern", (1, 1), where=False, note="Python's regular expressions."),
    RuleType(
        "ColumnValues",
        (1, 1),
        ANYTHING,
        threshold=True,
        rows=True,
        note="NULL fails, except under `!=` and `not in`; dates are compared as days.",
    ),
    RuleType("Completeness", (1, 1), NUMBERS, rows=True),
    RuleType(
        "CustomSql",
        (1, 1),
        NUMBERS,
        optional=True,
        threshold=True,
        where=False,
        rows=True,
        note="One query (SELECT or WITH) over `primary` and the additional sources.",
    ),
    RuleType("DataFreshness", (1, 1), frozenset({"duration"}), rows=True),
    RuleType("DatasetMatch", (2, 3), NUMBERS, where=False, rows=True, note="Keys that are not unique fail the rule."),
    RuleType("DistinctValuesCount", (1, 1), NUMBERS),
    RuleType("Entropy", (1, 1), NUMBERS),
    RuleType("IsComplete", (1, 1), rows=True),
    RuleType("IsPrimaryKey", (1, 64), rows=True),
    RuleType("IsUnique", (1, 1), rows=True),
    RuleType("Mean", (1, 1), NUMBERS),
    RuleType("ReferentialIntegrity", (2, 2), NUMBERS, where=False, rows=True),
    RuleType("RowCount", (0, 0), NUMBERS),
    RuleType("RowCountMatch", (1, 1), NUMBERS, where=False),
    RuleType("SchemaMatch", (1, 1), NUMBERS, where=False, note="The share of columns of equal name and type."),
    RuleType("StandardDeviation", (1, 1), NUMBERS),
    RuleType("Sum", (1, 1), NUMBERS),
    RuleType("UniqueValueRatio", (1, 1), NUMBERS, rows=True),
    RuleType("Uniqueness", (1, 64), NUMBERS, rows=True),
    *_refused(
        "DetectAnomalies",
        "anomalies are found by a model of AWS",
        "Compare with a bound, such as RowCount > 100.",
    ),
    *_refused("FileFreshness FileMatch FileUniqueness FileSize", _FILES, "Check the files in the script."),
]

RULE_TYPES: Mapping[str, RuleType] = {rule_type.name: rule_type for rule_type in _ALL}
"""Rule types by name."""

ANALYZERS = frozenset(
    {"ColumnCorrelation", "ColumnCount", "ColumnLength", "ColumnValues", "Completeness", "DistinctValuesCount", "Entropy"}
    | {"Mean", "RowCount", "StandardDeviation", "Sum", "UniqueValueRatio", "Uniqueness"}
)
"""Rule types that are analyzers, too."""

"""Every rule type of AWS's reference: its parameters, what it is compared with, and whether it is served.

Source: AWS Glue Developer Guide, "DQDL rule type reference" (arguments, metrics, row-level results), and AWS's own parser
of DQDL (awslabs/dqdl).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["ANALYZERS", "RULE_TYPES", "RuleType"]

NUMBERS = frozenset({"number"})
ANYTHING = frozenset({"number", "date", "text"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleType:
    """A rule type. ``note`` is for the documentation, ``refused`` says why it is not served."""

    name: str
    parameters: tuple[int, int] = (0, 0)
    """The least and the greatest number of parameters."""
    kinds: frozenset[str] = frozenset()
    """The kinds of conditions that it takes."""
    optional: bool = False
    """Whether it can be without a condition."""
    threshold: bool = False
    where: bool = True
    rows: bool = False
    """Whether it has a result for each row."""
    note: str = ""
    refused: str = ""
    remedy: str = ""


def _measure(name: str, parameters: tuple[int, int] = (1, 1), **others: bool) -> RuleType:
    return RuleType(name=name, parameters=parameters, kinds=NUMBERS, **others)  # type: ignore[arg-type]


def _refused(names: str, refused: str, remedy: str) -> Sequence[RuleType]:
    return [RuleType(name=name, refused=refused, remedy=remedy) for name in names.split()]


_FILES = "rules about files read S3 without a frame"

_ALL: Sequence[RuleType] = [
    RuleType(
        name="AggregateMatch",
        parameters=(2, 2),
        kinds=NUMBERS,
        where=False,
        note="`sum` and `avg`, of `reference.column`, too.",
    ),
    _measure("ColumnCorrelation", (2, 2)),
    _measure("ColumnCount", (0, 0), where=False),
    RuleType(
        name="ColumnDataType",
        parameters=(1, 1),
        kinds=frozenset({"text"}),
        threshold=True,
        rows=True,
        note='Boolean, Date, Timestamp, Integer, Double, Float, Long, Decimal(p,s); `with "format" = …` for dates.',
    ),
    RuleType(name="ColumnExists", parameters=(1, 1), where=False),
    _measure("ColumnLength", threshold=True, rows=True),
    RuleType(name="ColumnNamesMatchPattern", parameters=(1, 1), where=False, note="Python's regular expressions."),
    RuleType(
        name="ColumnValues",
        parameters=(1, 1),
        kinds=ANYTHING,
        threshold=True,
        rows=True,
        note="NULL fails, except under `!=` and `not in`; dates are compared as days.",
    ),
    _measure("Completeness", rows=True),
    RuleType(
        name="CustomSql",
        parameters=(1, 1),
        kinds=NUMBERS,
        optional=True,
        threshold=True,
        where=False,
        rows=True,
        note="One query (SELECT or WITH) over `primary` and the additional sources.",
    ),
    RuleType(name="DataFreshness", parameters=(1, 1), kinds=frozenset({"duration"}), rows=True),
    RuleType(
        name="DatasetMatch",
        parameters=(2, 3),
        kinds=NUMBERS,
        where=False,
        rows=True,
        note="Keys that are not unique fail the rule.",
    ),
    _measure("DistinctValuesCount"),
    _measure("Entropy"),
    RuleType(name="IsComplete", parameters=(1, 1), rows=True),
    RuleType(name="IsPrimaryKey", parameters=(1, 64), rows=True),
    RuleType(name="IsUnique", parameters=(1, 1), rows=True),
    _measure("Mean"),
    RuleType(name="ReferentialIntegrity", parameters=(2, 2), kinds=NUMBERS, where=False, rows=True),
    _measure("RowCount", (0, 0)),
    RuleType(name="RowCountMatch", parameters=(1, 1), kinds=NUMBERS, where=False),
    RuleType(
        name="SchemaMatch",
        parameters=(1, 1),
        kinds=NUMBERS,
        where=False,
        note="The share of columns of equal name and type.",
    ),
    _measure("StandardDeviation"),
    _measure("Sum"),
    _measure("UniqueValueRatio", rows=True),
    _measure("Uniqueness", (1, 64), rows=True),
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

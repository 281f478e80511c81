"""Every data format has its rules, its walk for differences, and a file ending of its own."""

from penstock.schema.diff.compare import _WALKS
from penstock.schema.format import DATA_FORMATS
from penstock.schema.formats import FORMATS, format_of


def test_each_format_has_its_rules() -> None:
    assert tuple(FORMATS) == DATA_FORMATS
    assert [format_of(name).name for name in DATA_FORMATS] == list(DATA_FORMATS)
    assert set(_WALKS) == set(DATA_FORMATS)


def test_endings_tell_formats_apart() -> None:
    assert len({rules.ending for rules in FORMATS.values()}) == len(FORMATS)

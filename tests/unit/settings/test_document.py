"""Values of a settings document: what is read, and what is refused with file, line and reason."""

import pytest

from penstock.errors import InvalidInput
from penstock.settings.document import Section, load_document


def section(value: str) -> Section:
    return load_document(f"name: n\nvalue: {value}\n", origin="f.yaml", environment={})


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("1_000", 1_000), ("-5", -5), ("007", 7)])
def test_whole_numbers_may_group_their_digits(text: str, number: int) -> None:
    assert section(text).integer("value", minimum=-10) == number


@pytest.mark.parametrize("text", ["1_", "1__0", "_1", "1.5", "0x10", "many", "9" * 5_000, "-1"])
def test_other_texts_are_no_whole_numbers(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^f\.yaml:2: 'value' is '.*', not a whole number from 0 to 2,147,483,647"):
        section(text).integer("value")


def test_fractions_booleans_and_choices() -> None:
    assert section("0.25").fraction("value") == 0.25
    assert section("Yes").boolean("value") is True
    assert section("off").boolean("value") is False
    assert section("Stream").choice(("STREAM", "QUEUE"), "value") == "STREAM"
    missing = section("1")
    assert (missing.integer("x"), missing.fraction("x"), missing.boolean("x"), missing.choice(("a",), "x")) == (None,) * 4


@pytest.mark.parametrize("text", ["nan", "1.01", "-0.1", "half"])
def test_a_fraction_is_from_0_to_1(text: str) -> None:
    with pytest.raises(InvalidInput, match="not a number from 0 to 1"):
        section(text).fraction("value")


def test_the_values_of_a_choice_are_listed() -> None:
    with pytest.raises(InvalidInput, match=r"'value' is 'c'; it can be a, b"):
        section("c").choice(("a", "b"), "value")
    with pytest.raises(InvalidInput, match="not true or false"):
        section("maybe").boolean("value")

"""How an error reads: message, then remedy, as sentences."""

import pytest

from penstock.errors import InvalidInput


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("Division by zero", "Division by zero. Guard the divisor."),
        ("The SQL is empty.", "The SQL is empty. Guard the divisor."),
        ("What now?", "What now? Guard the divisor."),
    ],
)
def test_a_remedy_is_a_sentence_of_its_own(message: str, said: str) -> None:
    assert str(InvalidInput(message, remedy="Guard the divisor.")) == said
    assert str(InvalidInput(message)) == message

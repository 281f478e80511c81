"""What a new schema version may do to a sink's table.

The words are those of dlt's schema contracts (https://dlthub.com/docs/general-usage/schema-contracts): ``evolve`` and
``freeze``; the cases are those of Flink CDC's schema changes, as far as a registry's versions can bring them.
"""

from dataclasses import dataclass
from typing import Literal

from penstock.settings.document import Section

__all__ = ["Contract", "Evolution", "evolution"]

Contract = Literal["evolve", "freeze"]
"""``evolve`` changes the table; ``freeze`` stops the stream before the batch is committed."""

_WORDS: tuple[Contract, ...] = ("evolve", "freeze")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evolution:
    """What happens to the table if a batch has a new column, a wider type, or a field under a new name (Avro's alias)."""

    add: Contract = "evolve"
    widen: Contract = "evolve"
    rename: Contract = "evolve"


def evolution(section: Section) -> Evolution:
    """Return what ``evolution`` of a sink's section declares: one word for all changes, or a word for each."""
    if isinstance(section.plain("evolution"), str):
        word = section.choice(_WORDS, "evolution") or "evolve"
        return Evolution(add=word, widen=word, rename=word)
    inner = section.section("evolution")
    if inner is None:
        return Evolution()
    settings = Evolution(
        add=inner.choice(_WORDS, "add") or "evolve",
        widen=inner.choice(_WORDS, "widen") or "evolve",
        rename=inner.choice(_WORDS, "rename") or "evolve",
    )
    inner.done()
    return settings

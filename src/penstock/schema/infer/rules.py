"""The user's settings for derived schemas."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["InferenceRules"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceRules:
    """``whole_numbers``: the type of a new field that has only whole numbers so far. long is exact; double leaves room for
    fractions to come, which a long does not. ``max_fields`` bounds the fields of a schema, those of inner records included.
    """

    whole_numbers: Literal["long", "double"] = "long"
    max_fields: int = 1_000

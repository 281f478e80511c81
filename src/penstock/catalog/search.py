"""Match names by a regular expression, always in time linear in the name: with RE2, which is part of Arrow."""

import re
from collections.abc import Callable, Sequence

from penstock.wildcards import linear_matcher

__all__ = ["name_matcher"]

# An escaped character, a class, a quantified group's end or dot, or a star. Only the last is Hive's star for any text.
_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]\*?|[.)]\*|\*", re.DOTALL)


def name_matcher(expression: str) -> Callable[[Sequence[str]], Sequence[bool]]:
    """Return a function that decides whether a whole name matches ``expression``, ignoring case.

    ``*`` is any text, as in Hive's patterns, which awswrangler and Athena send (``sales_*|*_raw``); after a dot, a class
    or a group it repeats that, as in the regular expressions that Glue documents.

    Raises :class:`~penstock.errors.InvalidInput` for an invalid regular expression. Needs pyarrow (the extra ``server``).
    """
    return linear_matcher(_PIECE.sub(lambda piece: ".*" if piece[0] == "*" else piece[0], expression), ignore_case=True)

"""Names by regular expression, in time linear in the name whatever the expression: RE2, which Arrow brings along."""

import re
from collections.abc import Callable, Sequence

from penstock.wildcards import linear_matcher

__all__ = ["name_matcher"]

# An escaped character, a class, a quantified group's end or dot, or a star: only the last is Hive's, for any text.
_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]\*?|[.)]\*|\*", re.DOTALL)


def name_matcher(expression: str) -> Callable[[Sequence[str]], Sequence[bool]]:
    """A function that says of each name whether the whole of it matches ``expression``, letter case aside.

    ``*`` is any text, as in Hive's patterns, which awswrangler and Athena send (``sales_*|*_raw``); behind a dot, a class
    or a group it repeats that, as in the regular expressions that Glue documents.

    Raises :class:`~penstock.errors.InvalidInput` for what is no regular expression. Needs pyarrow (the extra ``server``).
    """
    return linear_matcher(_PIECE.sub(lambda piece: ".*" if piece[0] == "*" else piece[0], expression), ignore_case=True)

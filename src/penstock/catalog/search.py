"""Names by regular expression, in time linear in the name whatever the expression: RE2, which Arrow brings along."""

import re
from collections.abc import Callable, Sequence

from penstock.errors import InvalidInput

__all__ = ["name_matcher"]

# An escaped character, a class, a quantified group's end or dot, or a star: only the last is Hive's, for any text.
_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]\*?|[.)]\*|\*", re.DOTALL)


def name_matcher(expression: str) -> Callable[[Sequence[str]], Sequence[bool]]:
    """A function that says of each name whether the whole of it matches ``expression``, letter case aside.

    ``*`` is any text, as in Hive's patterns, which awswrangler and Athena send (``sales_*|*_raw``); behind a dot, a class
    or a group it repeats that, as in the regular expressions that Glue documents.

    Raises :class:`InvalidInput` for what is no regular expression. Needs pyarrow (the extra ``server``).
    """
    try:
        import pyarrow as pa  # noqa: PLC0415 - heavy, and only this operation needs it
        import pyarrow.compute as pc  # noqa: PLC0415
    except ImportError as error:
        raise InvalidInput("Matching names by expression needs pyarrow.", remedy="pip install 'penstock[server]'") from error

    pattern = _PIECE.sub(lambda piece: ".*" if piece[0] == "*" else piece[0], expression)

    def match(names: Sequence[str]) -> Sequence[bool]:
        found = pc.match_substring_regex(pa.array(names, pa.string()), f"^(?:{pattern})$", ignore_case=True)
        return [bool(each) for each in found.to_pylist()]

    try:
        match([""])
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        raise InvalidInput(
            f"'{expression[:200]}' is not a regular expression: {error}.", remedy="Escape ( ) [ ] * + ? with a backslash."
        ) from None
    return match

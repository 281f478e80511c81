"""Patterns of callers, matched without backtracking: wildcards by Python's expressions, regular expressions by RE2.

No other module compiles a caller's pattern.
"""

from collections.abc import Callable, Sequence

from penstock.errors import InvalidInput

__all__ = ["expression", "linear_matcher"]


def expression(chunks: Sequence[str], any_one: str = ".") -> str:
    """Return the expression of ``chunks``, expressions that each match texts of one length, with a star between every two.

    ``any_one`` is the expression of one character that a star matches. The leftmost match of a chunk is as good as any
    later one, so each is an atomic group with the star before it: the time is at most quadratic in the length.
    """
    if len(chunks) == 1:
        return chunks[0]
    first, *middle, last = chunks
    between = "".join(f"(?>{any_one}*?{chunk})" for chunk in middle)
    return f"{first}{between}{any_one}*{last}"


def linear_matcher(pattern: str, *, ignore_case: bool = False) -> Callable[[Sequence[str]], Sequence[bool]]:
    """Return a function that tests whether all of each text matches ``pattern``, in RE2's syntax (dots match line breaks).

    RE2, which Arrow includes, takes time linear in the text for any pattern, refuses patterns that are too large, and
    releases the GIL meanwhile. It compiles the pattern at each call: give it many texts at once.

    Raises :class:`InvalidInput` for an invalid expression. Needs pyarrow (the extra ``server``).
    """
    try:
        import pyarrow as pa  # noqa: PLC0415 - slow to import, and rarely needed
        import pyarrow.compute as pc  # noqa: PLC0415
    except ImportError as error:
        raise InvalidInput(
            "Matching by expression needs pyarrow.", remedy="Install it with: pip install 'penstock[server]'"
        ) from error

    def match(texts: Sequence[str]) -> Sequence[bool]:
        # File names may have bytes that are not UTF-8.
        plain = [text.encode(errors="replace").decode() for text in texts]
        result = pc.match_substring_regex(pa.array(plain, pa.string()), f"(?s)^(?:{pattern})$", ignore_case=ignore_case)
        return [bool(item) for item in result.to_pylist()]

    try:
        # Alone first: a surplus bracket must not close the group around the pattern.
        pc.match_substring_regex(pa.array([""], pa.string()), pattern)
        match([""])
    except (pa.ArrowInvalid, pa.ArrowKeyError, UnicodeError) as error:
        raise InvalidInput(
            f"'{pattern[:200]}' is not a regular expression: {error}.", remedy="Escape ( ) [ ] * + ? with a backslash."
        ) from None
    return match

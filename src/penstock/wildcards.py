"""Patterns from outside, matched without backtracking: stars as Python's expressions, true expressions by RE2.

No other module compiles what a caller wrote.
"""

from collections.abc import Callable, Sequence

from penstock.errors import InvalidInput

__all__ = ["expression", "linear_matcher"]


def expression(chunks: Sequence[str], any_one: str = ".") -> str:
    """The expression of ``chunks``, expressions that each match texts of one length, with a star between every two.

    ``any_one`` is the expression of one character that a star may stand for. The leftmost place of a chunk is as good as any
    later one, so each is an atomic group with what is before it: the time is at most length times length.
    """
    if len(chunks) == 1:
        return chunks[0]
    first, *middle, last = chunks
    between = "".join(f"(?>{any_one}*?{chunk})" for chunk in middle)
    return f"{first}{between}{any_one}*{last}"


def linear_matcher(pattern: str, *, ignore_case: bool = False) -> Callable[[Sequence[str]], Sequence[bool]]:
    """A function that says of each text whether all of it matches ``pattern``, in RE2's syntax (dots match line breaks).

    RE2, which Arrow brings along, takes time linear in the text whatever the pattern, refuses those that are too large for
    it, and leaves the interpreter to others meanwhile. It reads the pattern at each call: give it many texts at once.

    Raises :class:`InvalidInput` for what is not a regular expression. Needs pyarrow (the extra ``server``).
    """
    try:
        import pyarrow as pa  # noqa: PLC0415 - heavy, and few need it
        import pyarrow.compute as pc  # noqa: PLC0415
    except ImportError as error:
        raise InvalidInput("Matching by expression needs pyarrow.", remedy="pip install 'penstock[server]'") from error

    def match(texts: Sequence[str]) -> Sequence[bool]:
        # Names of files may hold bytes that are not UTF-8.
        plain = [text.encode(errors="replace").decode() for text in texts]
        found = pc.match_substring_regex(pa.array(plain, pa.string()), f"(?s)^(?:{pattern})$", ignore_case=ignore_case)
        return [bool(each) for each in found.to_pylist()]

    try:
        # Alone first: a bracket too many is not to close the one that is put around it.
        pc.match_substring_regex(pa.array([""], pa.string()), pattern)
        match([""])
    except (pa.ArrowInvalid, pa.ArrowKeyError, UnicodeError) as error:
        raise InvalidInput(
            f"'{pattern[:200]}' is not a regular expression: {error}.", remedy="Escape ( ) [ ] * + ? with a backslash."
        ) from None
    return match

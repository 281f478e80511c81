"""Regular expressions of patterns whose ``*`` stands for any run of characters, in which matching never backtracks."""

from collections.abc import Sequence

__all__ = ["expression"]


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

"""Conditions on partitions: from the text that Hive's clients send to Glue's partition expressions.

Both are comparisons with AND, OR and brackets; Hive's texts are in double quotes, Glue's in single ones. Source of Hive's
grammar: Filter.g of its metastore; of Glue's: the API page of GetPartitions.
"""

import re

from penstock.errors import InvalidInput

__all__ = ["glue_expression"]

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"[^"\\']*"|'[^'\\"]*')|(?P<number>-?\d+(?:\.\d+)?)|(?P<sign><=|>=|<>|!=|=|<|>|\(|\)|,)"""
    r"""|(?P<word>(?:date\s+)?[A-Za-z_][\w$]*)|`(?P<name>[^`]+)`)\s*""",
    re.IGNORECASE,
)
_MAX_LENGTH = 2_048  # of Glue's expressions


def glue_expression(condition: str) -> str:
    """Return Hive's ``condition`` as Glue's. Raises :class:`InvalidInput` for what Glue cannot express."""
    parts: list[str] = []
    at = 0
    while at < len(condition):
        match = _TOKEN.match(condition, at)
        if match is None:
            raise InvalidInput(f"The condition {condition[:200]} cannot be read at character {at + 1}.")
        at = match.end()
        if match["text"] is not None:
            parts.append(f"'{match['text'][1:-1]}'")
        elif match["name"] is not None:
            parts.append(match["name"])
        else:
            parts.append(match[0].strip())
    expression = " ".join(parts).replace("!=", "<>")
    if len(expression) > _MAX_LENGTH:
        raise InvalidInput(f"The condition is {len(expression)} characters long; Glue's limit is {_MAX_LENGTH}.")
    return expression

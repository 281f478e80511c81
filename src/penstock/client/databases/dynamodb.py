"""What crawlers and scripts read of DynamoDB in the same way: the types of its numbers, and tables by their ARNs."""

__all__ = ["is_whole", "table_of_arn"]

_LONG = 18  # digits that a bigint has in any case


def is_whole(number: str) -> bool:
    """Return whether a number, which DynamoDB gives as text, is a bigint; any other is a double.

    Numbers: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html.
    """
    digits = number.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) <= _LONG


def table_of_arn(arn: str) -> tuple[str, str | None]:
    """Return a table's name, empty if this is no ARN of one, and its region, None of DynamoDB Local's own ARNs."""
    name = arn.rpartition(":table/")[2] if arn.startswith("arn:") and ":table/" in arn else ""
    region = arn.split(":")[3] if name else ""
    return name, None if region in {"", "ddblocal"} else region

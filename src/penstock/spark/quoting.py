"""Names in Spark's SQL and expressions, quoted so that any character may be in them."""

__all__ = ["quoted"]


def quoted(*names: str) -> str:
    """Return a name in backticks; several names are the path of a nested field."""
    return ".".join("`" + name.replace("`", "``") + "`" for name in names)

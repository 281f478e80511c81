"""Settings of Spark in a job's arguments.

Source: Glue developer guide, "Using job parameters in AWS Glue jobs": ``--conf`` takes one setting, and further ones follow
within its value, each behind another ``--conf``.
"""

import re
from collections.abc import Sequence

from penstock.errors import InvalidInput

__all__ = ["split_settings"]

_NEXT = re.compile(r"\s+--conf\s+")


def split_settings(text: str) -> Sequence[tuple[str, str]]:
    """Return the settings in the value of ``--conf``, such as ``spark.a=1 --conf spark.b=2``, as pairs.

    Raises :class:`InvalidInput` for a text that is not ``spark.KEY=VALUE``.
    """
    settings = []
    for part in _NEXT.split(text.strip()) if text.strip() else ():
        key, equals, value = part.partition("=")
        if not equals or not key.startswith("spark."):
            raise InvalidInput(f"'{part[:100]}' in --conf is not a setting of Spark.", remedy="Write spark.KEY=VALUE.")
        settings.append((key.strip(), value.strip()))
    return settings

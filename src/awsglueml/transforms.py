"""The detection of sensitive data; what needs AWS's own models raises at its use."""

from typing import Any

from penstock.glue.entities.detector import EntityDetector
from penstock.glue.errors import refused_name
from penstock.glue.library.table import refusals

__all__ = ["EntityDetector"]
# So that ``import *`` finds the refused ones, too.
__all__ += list(refusals("awsglueml.transforms"))


def __getattr__(name: str) -> Any:
    return refused_name(__name__, name)

"""Requests and responses as the modules of operations pass them."""

from collections.abc import Mapping
from typing import Any

__all__ = ["Request", "Response", "present"]

Request = Mapping[str, Any]
"""The members of a request, checked against botocore's shape."""
Response = Mapping[str, Any]
"""The members of a response."""


def present(**members: Any) -> dict[str, Any]:
    """Return ``members`` without those that are None: AWS leaves absent members out and never sends null."""
    return {name: value for name, value in members.items() if value is not None}

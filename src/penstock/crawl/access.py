"""Who started a crawl, what that caller may do to the catalog, and who hears of its changes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.access.principals import Caller

__all__ = ["AccessOf", "CrawlAccess", "Starter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Starter:
    """The caller of the operation that starts crawls, now or by a schedule. ``caller`` is None under --no-auth.

    ``action`` is Glue's name of the operation; conditions of policies read ``client``, ``secure`` and ``user_agent``.
    """

    caller: Caller | None
    action: str
    client: str = "-"
    secure: bool = False
    user_agent: str = ""


class CrawlAccess(Protocol):
    """What a crawl's starter may do, and the audit log of what the crawl did."""

    def check_start(self) -> None:
        """Raise :class:`~penstock.errors.AccessDenied` unless the starter may still do what started the crawl."""

    def check(self, operation: str, request: Mapping[str, Any]) -> None:
        """Raise :class:`~penstock.errors.AccessDenied` if the starter is denied an operation of Glue."""

    def check_files(self, action: str, uris: Sequence[str], table: tuple[str, str] | None = None, /) -> Sequence[str]:
        """As :class:`penstock.lake.permitted.FileAccess`, for the starter, or else the crawler's role if Glue may assume it.

        Source: Glue developer guide, "Crawler prerequisites": on AWS the role alone reads the data.
        """

    def changed(self, operation: str, request: Mapping[str, Any]) -> None:
        """Record an operation of Glue that the crawl has done."""


AccessOf = Callable[[str, Starter, str, str, str], CrawlAccess]
"""Returns the access of an account's crawl, by account, starter, crawler's name, its role and the id of its run."""

"""Which members of requests are served, by the shapes of botocore's models; every other one is rejected by name.

A member that is accepted and does nothing misleads its sender. ``snapshot.json`` has the members of all requests that are
served, as ``tools/aws-members`` has found them in botocore's models; ``exclusions.py`` names those that no handler reads.
The compiled checkers reject a member that is not served, unless its value asks for nothing
(:func:`asks_nothing`). A member that a later botocore adds is not in the snapshot, and so
is rejected until a handler serves it.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from penstock.api.aws.members.exclusions import EXCLUSIONS, Exclusions

__all__ = ["SNAPSHOT", "Members", "asks_nothing", "members_of"]

SNAPSHOT = Path(__file__).with_name("snapshot.json")


class Members:
    """The members of a service's requests.

    ``recorded`` has those that botocore's model had when they were recorded, by shape, with spaces between them. Handlers
    read all that ``exclusions`` does not exclude.
    """

    def __init__(self, recorded: Mapping[str, str], exclusions: Exclusions) -> None:
        self.read: Mapping[str, frozenset[str]] = {
            shape: frozenset(name for name in names.split() if not exclusions.excludes(shape, name))
            for shape, names in recorded.items()
        }
        self.harmless = exclusions.harmless
        self._remedies = exclusions.remedies

    def serves(self, shape: str, member: str) -> bool:
        """Return whether a handler reads the member."""
        return member in self.read.get(shape, ())

    def permits(self, shape: str, member: str, value: Any) -> bool:
        """Return whether a member that is not served may nevertheless be sent with ``value``."""
        harmless = self.harmless.get(shape, {}).get(member)
        if harmless is not None and (harmless.values is None or (isinstance(value, str) and value in harmless.values)):
            return True
        return asks_nothing(value)

    def remedy(self, member: str) -> str:
        """Return what to do instead of sending the member."""
        return self._remedies.get(member, "Leave it out.")


def asks_nothing(value: Any) -> bool:
    """Return whether a JSON value asks for nothing: false, an empty string, list or map, or structures of these.

    A structure with ``Enabled`` false asks for nothing, whatever its other members are.

    Clients that build whole requests, as Terraform does, send such values for settings that their users did not give.
    """
    if isinstance(value, Mapping):
        return value.get("Enabled") is False or all(asks_nothing(member) for member in value.values())
    return value is None or value is False or value in ("", [])


@cache
def members_of(service: str) -> Members:
    """Return the members of the requests of ``service``; a service that is not recorded serves none."""
    recorded = orjson.loads(SNAPSHOT.read_bytes())
    return Members(recorded.get(service, {}), EXCLUSIONS.get(service, Exclusions()))

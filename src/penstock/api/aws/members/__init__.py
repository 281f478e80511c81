"""Which members of requests are served, by the shapes of botocore's models; every other one is rejected by name.

A member that is accepted and does nothing misleads its sender. ``snapshot.json`` has the members of all requests that are
served, as ``tools/aws-members`` has found them in botocore's models; ``exclusions.py`` names those that no handler reads.
The compiled checkers reject a member that is not served, unless its value asks for nothing
(:func:`~penstock.api.aws.members.declared.asks_nothing`). A member that a later botocore adds is not in the snapshot, and so
is rejected until a handler serves it.
"""

from functools import cache
from pathlib import Path

import orjson

from penstock.api.aws.members.declared import Exclusions, Members
from penstock.api.aws.members.exclusions import EXCLUSIONS

__all__ = ["SNAPSHOT", "Members", "members_of"]

SNAPSHOT = Path(__file__).with_name("snapshot.json")


@cache
def members_of(service: str) -> Members:
    """Return the members of the requests of ``service``; a service that is not recorded serves none."""
    known = orjson.loads(SNAPSHOT.read_bytes())
    return Members(known.get(service, {}), EXCLUSIONS.get(service, Exclusions()))

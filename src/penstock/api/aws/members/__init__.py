"""Which members of requests are served, by the shapes of botocore's models; every other one is rejected by name.

A member that is accepted and does nothing misleads its sender. So each service declares the members that its handlers read.
The compiled checkers reject a member that is not declared, unless its value asks for nothing (:func:`asks_nothing`). A
member that a later botocore adds is rejected until a handler serves it.
"""

from collections.abc import Mapping
from functools import cache

from penstock.api.aws.members import (
    athena,
    cloudtrail,
    glue,
    iam,
    lakeformation,
    logs,
    organizations,
    secretsmanager,
    sts,
    tagging,
)
from penstock.api.aws.members.declared import Harmless, Members, asks_nothing

__all__ = ["Harmless", "Members", "asks_nothing", "members_of"]

_SERVICES: Mapping[str, Members] = {
    "athena": athena.MEMBERS,
    "cloudtrail": cloudtrail.MEMBERS,
    "glue": glue.MEMBERS,
    "iam": iam.MEMBERS,
    "lakeformation": lakeformation.MEMBERS,
    "logs": logs.MEMBERS,
    "organizations": organizations.MEMBERS,
    "resourcegroupstaggingapi": tagging.MEMBERS,
    "secretsmanager": secretsmanager.MEMBERS,
    "sts": sts.MEMBERS,
}


@cache
def members_of(service: str) -> Members:
    """Return the members that ``service`` declares."""
    return _SERVICES[service]

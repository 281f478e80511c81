"""Which condition keys a request here can have, so that no Deny rests on one that it never has.

A Deny whose condition reads a missing key holds for nothing, in silence. AWS tells the tags of a resource, a secret's id and
more; here such a Deny is refused when it is put. An Allow on a missing key allows nothing, and needs no such rule. Source:
"AWS global condition context keys", and the condition keys of each service in the service authorization reference.
"""

from penstock.access.context_keys import SERVED_KEYS
from penstock.access.policies.conditions import Condition, Values

__all__ = ["never_matches"]

_SERVED = SERVED_KEYS | {
    "iam:passedtoservice",
    "iam:permissionsboundary",
    "iam:policyarn",
    "s3:delimiter",
    "s3:max-keys",
    "s3:prefix",
    "sts:externalid",
    "sts:rolesessionname",
}
# Requests to AWS have these in networks, by devices and through services that are not here: to be without is right.
_ABSENT = frozenset(
    f"aws:{name}"
    for name in (
        *("calledvia", "calledviafirst", "calledvialast", "multifactorauthage", "principalservicename"),
        *("principalservicenameslist", "sourceaccount", "sourcearn", "sourceidentity", "sourceorgid", "sourceorgpaths"),
        *("sourcevpc", "sourcevpcarn", "sourcevpce", "vpceaccount", "vpceorgid", "vpceorgpaths", "vpcsourceip"),
    )
) | {"sts:sourceidentity", "sts:transitivetagkeys"}
_SERVICES = frozenset({"athena", "aws", "cloudtrail", "glue", "iam", "organizations", "s3", "secretsmanager", "sts"})
_TAGS_OF_CALLER = "aws:principaltag/"


class _NoContextKeys:
    """A request without any key."""

    def get(self, _key: str) -> Values | None:
        return None

    def text(self, _key: str) -> str | None:
        return None


def never_matches(condition: Condition) -> bool:
    """Whether the condition reads a key that AWS would know and this server does not, and holds for no request therefore."""
    key = condition.key
    if key in _SERVED or key in _ABSENT or key.startswith(_TAGS_OF_CALLER) or key.partition(":")[0] not in _SERVICES:
        return False
    return not condition.matches(_NoContextKeys())

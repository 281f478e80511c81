"""Which condition keys a request here can have, so that a Deny cannot depend on a key that no request has.

A Deny whose condition reads a missing key silently applies to nothing. AWS has keys for the tags of a resource, a secret's
id and more; here a Deny with such a key is rejected when it is put. An Allow on a missing key allows nothing, and needs no
such rule. Source: "AWS global condition context keys", and the condition keys of each service in the service authorization
reference.
"""

from penstock.access.context_keys import SERVED_KEYS
from penstock.access.policies.conditions import Condition, Values

__all__ = ["S3_HEADERS", "is_known", "never_matches"]

S3_HEADERS = frozenset(
    f"x-amz-{name}"
    for name in (
        *("acl", "copy-source", "metadata-directive", "server-side-encryption"),
        *("server-side-encryption-aws-kms-key-id", "storage-class"),
    )
)
"""Headers of requests to S3 that are condition keys, with ``s3:`` before their names."""

_SERVED = SERVED_KEYS | {
    "iam:passedtoservice",
    "iam:permissionsboundary",
    "iam:policyarn",
    "s3:delimiter",
    "s3:max-keys",
    "s3:prefix",
    "s3:resourceaccount",
    *(f"s3:{name}" for name in S3_HEADERS),
    "sts:externalid",
    "sts:rolesessionname",
}
# Requests to AWS have these only from networks, devices and services that do not exist here, so a missing key is correct.
_ABSENT = frozenset(
    f"aws:{name}"
    for name in (
        *("calledvia", "calledviafirst", "calledvialast", "multifactorauthage", "principalservicename"),
        *("principalservicenameslist", "sourceaccount", "sourcearn", "sourceidentity", "sourceorgid", "sourceorgpaths"),
        *("sourcevpc", "sourcevpcarn", "sourcevpce", "vpceaccount", "vpceorgid", "vpceorgpaths", "vpcsourceip"),
    )
) | {"sts:sourceidentity", "sts:transitivetagkeys"}
_SERVICES = frozenset(
    {"athena", "aws", "cloudtrail", "glue", "iam", "lakeformation", "logs", "organizations", "s3", "secretsmanager", "sts"}
)
_TAGS_OF_CALLER = "aws:principaltag/"


class _NoContextKeys:
    """The keys of a request that has none."""

    def get(self, _key: str) -> Values | None:
        return None

    def text(self, _key: str) -> str | None:
        return None


def is_known(key: str) -> bool:
    """Return whether requests here have the condition key (in lower case), or lack it as they would at AWS."""
    return key in _SERVED or key in _ABSENT or key.startswith(_TAGS_OF_CALLER)


def never_matches(condition: Condition) -> bool:
    """Return whether the condition matches no request here, because it reads a key that AWS has and this server lacks."""
    key = condition.key
    if is_known(key) or key.partition(":")[0] not in _SERVICES:
        return False
    return not condition.matches(_NoContextKeys())

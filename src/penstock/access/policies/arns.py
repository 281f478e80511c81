"""The form of a policy's Resource, beyond its beginning with ``arn:``.

Source: IAM user guide, "IAM JSON policy elements: Resource" (the partition and the service are written out; ARNs of IAM and
S3 have no region), and "Actions, resources, and condition keys for IAM" for the kinds of IAM's resources.
"""

import re

from penstock.access.policies.errors import MalformedPolicy

__all__ = ["check_resource"]

_VARIABLE = re.compile(r"\$\{[^{}]*\}")
_PARTITIONS = frozenset({"aws", "aws-cn", "aws-eusc", "aws-iso", "aws-iso-b", "aws-iso-e", "aws-iso-f", "aws-us-gov"})
_SERVICE = re.compile(r"[A-Za-z0-9.-]+", re.ASCII)
_IAM = (
    *("access-report/", "federated-user/", "group/", "instance-profile/", "mfa/", "oidc-provider/", "policy/", "report/"),
    *("role/", "saml-provider/", "server-certificate/", "sms-mfa/", "user/"),
)
_PARTS = 6


def check_resource(place: str, text: str) -> None:
    """Raise :class:`MalformedPolicy` if ``text``, which begins with ``arn:``, is not a valid ARN."""
    shown = f"'{text[:100]}'"
    # A variable contains a colon.
    parts = _VARIABLE.sub("v", text).split(":", _PARTS - 1)
    if parts[1] not in _PARTITIONS:
        raise MalformedPolicy(place, f"has the partition '{parts[1][:40]}', which is not valid, in {shown}")
    if len(parts) < 3 or _SERVICE.fullmatch(parts[2]) is None:
        raise MalformedPolicy(place, f"has to name its service in full, without wildcards: {shown}")
    if len(parts) in (4, 5) and parts[-1] != "*":
        raise MalformedPolicy(place, f"{shown} is cut short: an ARN is arn:aws:SERVICE:REGION:ACCOUNT:RESOURCE")
    if len(parts) == _PARTS:
        _check_regionless(place, parts, shown)


def _check_regionless(place: str, parts: list[str], shown: str) -> None:
    service, region, account, resource = parts[2:]
    # An access point of S3 has a region and an account.
    if region not in ("", "*") and (service == "iam" or (service == "s3" and not account)):
        raise MalformedPolicy(place, f"{shown} cannot contain a region: {service.upper()} is global")
    resource_type = resource.partition("/")[0]
    if service == "iam" and not resource.startswith(_IAM) and resource_type != "root" and not set(resource_type) & set("*?"):
        raise MalformedPolicy(place, f"{shown} is not a resource of IAM: use one of {', '.join(_IAM)}, or *")

"""What the identities of the mutual TLS listener may not do: administer the broker itself."""

from collections.abc import Mapping
from typing import Any

from penstock.errors import EnvironmentProblem

__all__ = ["guard_cluster"]

_CLUSTER = "kafka-cluster"
_SECONDS = 20


def guard_cluster(settings: Mapping[str, Any]) -> None:
    """Give everybody what producers and consumers need of the cluster; by that, the rest is the super users' alone.

    Who may alter the cluster changes access control lists, broker settings and the passwords of all users, super users
    included. Kafka's authorizer allows a resource without a list to everybody (``allow.everyone.if.no.acl.found``) and one
    with a list to those in it. ``settings`` are librdkafka's, of a super user. Raises :class:`EnvironmentProblem` if the
    list cannot be made; one that is there is made once more to no effect.
    """
    try:
        from confluent_kafka import KafkaException  # noqa: PLC0415 - an extra
        from confluent_kafka.admin import (  # noqa: PLC0415
            AclBinding,
            AclOperation,
            AclPermissionType,
            AdminClient,
            ResourcePatternType,
            ResourceType,
        )
    except ModuleNotFoundError as error:
        raise EnvironmentProblem(
            "A broker with client certificates is guarded only with Kafka's client.",
            remedy="Install it with: pip install 'penstock[kafka]'",
        ) from error
    bindings = [
        AclBinding(
            ResourceType.BROKER,
            _CLUSTER,
            ResourcePatternType.LITERAL,
            "User:*",
            "*",
            operation,
            AclPermissionType.ALLOW,
        )
        for operation in (AclOperation.CREATE, AclOperation.DESCRIBE, AclOperation.IDEMPOTENT_WRITE)
    ]
    client = AdminClient({**settings, "log_level": 0})
    try:
        for made in client.create_acls(bindings, request_timeout=_SECONDS).values():
            made.result()
    except KafkaException as error:
        raise EnvironmentProblem(
            f"The broker took no access control list for its cluster: {error.args[0].str()}.",
            remedy="See the broker's log; or start without --mtls-port.",
        ) from error

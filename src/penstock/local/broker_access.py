"""Denies the identities of the mutual TLS listener the administration of the broker."""

from collections.abc import Mapping
from typing import Any

from penstock.errors import EnvironmentProblem

__all__ = ["guard_cluster"]

_CLUSTER = "kafka-cluster"
_SECONDS = 20


def guard_cluster(settings: Mapping[str, Any]) -> None:
    """Grant everybody the permissions that producers and consumers need on the cluster, and the rest to super users only.

    Permission to alter the cluster includes access control lists, broker settings and the passwords of all users, super
    users included. Kafka's authorizer allows everybody a resource without a list (``allow.everyone.if.no.acl.found``), and
    a resource with a list to those in it. ``settings`` are librdkafka's, of a super user. A list that exists is not
    changed. Raises :class:`EnvironmentProblem` if the list cannot be created.
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
            "A broker with client certificates needs Kafka's client, to restrict them.",
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
        for future in client.create_acls(bindings, request_timeout=_SECONDS).values():
            future.result()
    except KafkaException as error:
        raise EnvironmentProblem(
            f"The broker refused the access control list of its cluster: {error.args[0].str()}.",
            remedy="See the broker's log; or start without --mtls-port.",
        ) from error

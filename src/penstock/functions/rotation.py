"""Rotates secrets by a Lambda rotation function: its four steps, one after the other.

Source: Secrets Manager user guide, "Lambda rotation functions": the function is called with the steps createSecret,
setSecret, testSecret and finishSecret, each of which it can repeat. The secrets themselves show which ones to rotate:
RotateSecret gave them a version with the label AWSPENDING, and the ARN of the function.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from penstock.functions.environment import ExecutionEnvironment, Result
from penstock.functions.model import Function

__all__ = ["Rotated", "pending_rotations", "rotate"]

STEPS = ("createSecret", "setSecret", "testSecret", "finishSecret")
_PENDING, _CURRENT = "AWSPENDING", "AWSCURRENT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotated:
    """The result of a rotation; ``failed`` is the step at which the function failed, None if all are done."""

    secret: str
    version: str
    failed: str | None = None
    problem: str = ""


def pending_rotations(client: Any, function: Function) -> Iterator[tuple[str, str]]:
    """Yield ARN and version of every secret that waits for ``function``; ``client`` is boto3's for Secrets Manager.

    The rotation of a secret that is due by its rules is begun here.
    """
    for page in client.get_paginator("list_secrets").paginate():
        for secret in page["SecretList"]:
            arn_parts = str(secret.get("RotationLambdaARN", "")).split(":")
            if not secret.get("RotationEnabled") or arn_parts[6:7] != [function.name]:
                continue
            due = secret.get("NextRotationDate")
            if due is not None and due <= datetime.now(UTC) and not _is_pending(secret):
                yield secret["ARN"], client.rotate_secret(SecretId=secret["ARN"])["VersionId"]
                continue
            for version, stages in secret.get("SecretVersionsToStages", {}).items():
                if _PENDING in stages and _CURRENT not in stages:
                    yield secret["ARN"], version


def _is_pending(secret: Mapping[str, Any]) -> bool:
    stages = secret.get("SecretVersionsToStages", {}).values()
    return any(_PENDING in stage and _CURRENT not in stage for stage in stages)


def rotate(environment: ExecutionEnvironment, secret: str, version: str, stop: Callable[[], bool]) -> Rotated | None:
    """Call the function with each step of one rotation, until one fails. Return None if ``stop`` ended it in between."""
    for step in STEPS:
        if stop():
            return None
        event = {"Step": step, "SecretId": secret, "ClientRequestToken": version}
        result: Result = environment.run(json.dumps(event).encode())
        if result.error is not None:
            problem = f"{result.error.get('errorType')}: {str(result.error.get('errorMessage', ''))[:300]}"
            return Rotated(secret=secret, version=version, failed=step, problem=problem)
    return Rotated(secret=secret, version=version)

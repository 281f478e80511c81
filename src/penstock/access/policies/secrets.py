"""What Secrets Manager asks of a secret's policy beyond the grammar of all policies.

Source: Secrets Manager user guide, "Resource-based policies"; API reference, PutResourcePolicy.
"""

import json
from typing import Any

from penstock.access.policies.documents import Policy, PolicyType, parse_policy, parsed_policy
from penstock.access.policies.errors import MalformedPolicy
from penstock.access.policies.principals import texts_of

__all__ = ["parse_secret_policy", "stored_secret_policy"]

_MAX_BYTES = 20 * 1024


def parse_secret_policy(text: str, arn: str) -> Policy:
    """Return the policy in ``text`` for the secret ``arn``. Raises :class:`MalformedPolicy` with the place of the error."""
    policy = parse_policy(text, PolicyType.RESOURCE, limit=_MAX_BYTES)
    statements: Any = json.loads(text)["Statement"]
    for number, statement in enumerate(statements if isinstance(statements, list) else [statements]):
        place = f"Statement[{number}]"
        name = "Action" if "Action" in statement else "NotAction"
        for action in texts_of(f"{place}.{name}", statement[name]):
            if action != "*" and not action.lower().startswith("secretsmanager:"):
                raise MalformedPolicy(f"{place}.{name}", f"'{action[:100]}' is not an action of Secrets Manager")
        name = "Resource" if "Resource" in statement else "NotResource"
        for resource in texts_of(f"{place}.{name}", statement[name]):
            if resource not in {"*", arn}:
                raise MalformedPolicy(f"{place}.{name}", f"'{resource[:200]}' is neither * nor the secret's ARN")
    return policy


def stored_secret_policy(text: str) -> Policy:
    """Return a policy that was checked when it was put; it is parsed once and cached."""
    return parsed_policy(text, PolicyType.RESOURCE)

"""IAM's operations: users, keys, roles, managed policies, and the policies of users and roles."""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.access.accounts import Accounts
from penstock.access.holders import Holders
from penstock.access.managed_policies import ManagedPolicies
from penstock.access.roles import Roles
from penstock.access.users import Users
from penstock.api.aws.iam_holders import holder_handlers
from penstock.api.aws.iam_policies import policy_handlers
from penstock.api.aws.iam_roles import role_handlers
from penstock.api.aws.iam_users import user_handlers
from penstock.api.aws.operations import Handler, OperationSet

__all__ = ["Administration", "operations"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Administration:
    """The nouns of IAM."""

    users: Users
    roles: Roles
    policies: ManagedPolicies
    holders: Holders
    accounts: Accounts


def operations(administration: Administration) -> OperationSet:
    """The operations that are served; each works on the caller's own account."""
    handlers: Mapping[str, Handler] = {
        **user_handlers(administration.users, administration.accounts),
        **role_handlers(administration.roles),
        **policy_handlers(administration.policies),
        **holder_handlers(administration.holders),
    }
    return OperationSet(service="iam", handlers=handlers)

"""IAM's operations: users, keys, groups, roles, instance profiles, managed policies and attachments."""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.access.authorize import Authorizer
from penstock.access.federation.oidc_providers import OidcProviders
from penstock.access.identities.accounts import Accounts
from penstock.access.identities.aliases import Aliases
from penstock.access.identities.groups import Groups
from penstock.access.identities.identities import Identities
from penstock.access.identities.instance_profiles import InstanceProfiles
from penstock.access.identities.managed_policies import ManagedPolicies
from penstock.access.identities.roles import Roles
from penstock.access.identities.users import Users
from penstock.access.keys import AccessStore
from penstock.api.aws.iam.account import account_handlers
from penstock.api.aws.iam.groups import group_handlers
from penstock.api.aws.iam.identities import identity_handlers
from penstock.api.aws.iam.instance_profiles import instance_profile_handlers
from penstock.api.aws.iam.oidc import oidc_handlers
from penstock.api.aws.iam.policies import policy_handlers
from penstock.api.aws.iam.roles import role_handlers
from penstock.api.aws.iam.simulation import simulation_handlers
from penstock.api.aws.iam.users import other_credential_handlers, user_handlers
from penstock.api.aws.protocol.operations import Handler, OperationSet

__all__ = ["Administration", "operations"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Administration:
    """The services behind IAM's operations, by noun."""

    users: Users
    roles: Roles
    policies: ManagedPolicies
    identities: Identities
    accounts: Accounts
    groups: Groups
    profiles: InstanceProfiles
    providers: OidcProviders
    store: AccessStore
    authorizer: Authorizer


def operations(administration: Administration) -> OperationSet:
    """Return the operations that are served; each works on the caller's own account."""
    handlers: Mapping[str, Handler] = {
        **user_handlers(administration.users, administration.accounts),
        **other_credential_handlers(administration.users),
        **role_handlers(administration.roles),
        **policy_handlers(administration.policies),
        **identity_handlers(administration.identities),
        **group_handlers(administration.groups),
        **instance_profile_handlers(administration.profiles),
        **oidc_handlers(administration.providers),
        **account_handlers(
            administration.store, Aliases(administration.store), administration.roles, administration.policies
        ),
        **simulation_handlers(administration.store, administration.authorizer),
    }
    return OperationSet(service="iam", handlers=handlers)

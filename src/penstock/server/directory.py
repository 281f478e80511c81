"""Wires access control: keys, sessions, users, roles, policies and accounts, which are in one store for all accounts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from penstock.access.authenticate import KeyCache
from penstock.access.authorize import Authorizer
from penstock.access.federation.oidc_keys import IssuerKeys
from penstock.access.federation.oidc_providers import OidcProviders
from penstock.access.federation.web_identity import WebIdentities
from penstock.access.identities.accounts import Accounts
from penstock.access.identities.groups import Groups
from penstock.access.identities.identities import Identities
from penstock.access.identities.instance_profiles import InstanceProfiles
from penstock.access.identities.managed_policies import ManagedPolicies
from penstock.access.identities.roles import Roles
from penstock.access.identities.users import Users
from penstock.access.keys import AccessKey, AccessStore
from penstock.access.principals import root_arn
from penstock.access.sessions import Seal, Sessions
from penstock.access.sts import TokenService
from penstock.api.aws.iam import operations as iam
from penstock.api.aws.iam import sts
from penstock.api.aws.iam.operations import Administration
from penstock.api.aws.organizations import operations as organizations
from penstock.api.aws.protocol.operations import OperationSet
from penstock.server.lakes import make_folder
from penstock.settings.server import BootstrapKey
from penstock.store.sql.database import Database

__all__ = ["Directory", "connect_store"]


def connect_store(url: str) -> Database:
    """Return the server's database, in a folder that is created if it is missing."""
    database = Database(url)
    file = database.url.database
    if database.is_sqlite and file not in {None, "", ":memory:"}:
        make_folder(Path(str(file)).parent, "store")
    return database


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """The access control of one server; ``operations`` are those of IAM, STS and Organizations."""

    store: AccessStore
    keys: KeyCache
    sessions: Sessions
    authorizer: Authorizer
    accounts: Accounts
    tokens: TokenService
    operations: Sequence[OperationSet]

    @classmethod
    def over(
        cls,
        store: AccessStore,
        seal: Seal,
        *,
        account: str,
        make_lake: Callable[[str], Path],
        oidc_keys: Mapping[str, Path] | None = None,
    ) -> "Directory":
        """Return the directory over ``store``.

        ``account`` is the server's first one, ``make_lake`` makes an account's folder, ``oidc_keys`` are the files of
        issuers' public keys, by issuer.
        """
        keys, sessions, authorizer = KeyCache(store), Sessions(seal), Authorizer(store)
        identities = Identities(store, authorizer)
        roles = Roles(store, identities)
        accounts = Accounts(store, roles, identities, first=account)
        administration = Administration(
            users=Users(store, identities, keys_changed=keys.forget),
            roles=roles,
            policies=ManagedPolicies(store, authorizer),
            identities=identities,
            accounts=accounts,
            groups=Groups(store, identities),
            profiles=InstanceProfiles(store),
            providers=OidcProviders(store),
            store=store,
            authorizer=authorizer,
        )
        tokens = TokenService(store, authorizer, sessions)
        return cls(
            store=store,
            keys=keys,
            sessions=sessions,
            authorizer=authorizer,
            accounts=accounts,
            tokens=tokens,
            operations=(
                iam.operations(administration),
                organizations.operations(accounts, first=account, make_lake=make_lake),
                sts.operations(tokens, WebIdentities(store, IssuerKeys(oidc_keys or {}))),
            ),
        )

    def bootstrap(self, account: str, key: BootstrapKey | None) -> bool:
        """Store the first account, and ``key`` as a key of its root; return False if that was deactivated or deleted."""
        self.accounts.ensure_first()
        return key is None or self.store.put(
            AccessKey(
                access_key_id=key.access_key_id,
                secret_access_key=key.secret_access_key,
                account=account,
                principal=root_arn(account),
                created=datetime.now(UTC),
            )
        )

"""Callers, their sessions, and the ARNs of principals."""

from dataclasses import dataclass

__all__ = [
    "ANONYMOUS",
    "Caller",
    "SessionContext",
    "federated_arn",
    "role_arn",
    "root_arn",
    "session_arn",
    "user_arn",
]

ANONYMOUS = "anonymous"


def root_arn(account: str) -> str:
    """Return the ARN of an account's root."""
    return f"arn:aws:iam::{account}:root"


def user_arn(account: str, path: str, name: str) -> str:
    """Return the ARN of a user; ``path`` begins and ends with a slash."""
    return f"arn:aws:iam::{account}:user{path}{name}"


def role_arn(account: str, path: str, name: str) -> str:
    """Return the ARN of a role."""
    return f"arn:aws:iam::{account}:role{path}{name}"


def session_arn(account: str, role: str, session: str) -> str:
    """Return the ARN of a role's session, which has the role's name and not its path."""
    return f"arn:aws:sts::{account}:assumed-role/{role}/{session}"


def federated_arn(account: str, name: str) -> str:
    """Return the ARN of a federated user's session."""
    return f"arn:aws:sts::{account}:federated-user/{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionContext:
    """What a temporary credential has besides its principal. Times are in seconds since 1970.

    ``policies`` are the texts of session policies; ``policy_arns`` are managed policies.
    """

    issued: int
    expires: int
    role: str | None = None
    """ARN of the role; None for a user's or root's session (GetSessionToken)."""
    session_name: str | None = None
    policies: tuple[str, ...] = ()
    policy_arns: tuple[str, ...] = ()
    federated_by: str | None = None
    """ARN of the user or root who created a federated user's session (GetFederationToken)."""
    federated_by_id: str = ""
    """The unique id of that user."""

    @property
    def narrowed(self) -> bool:
        """Whether session policies limit the session; a federated user without any may do nothing."""
        return bool(self.policies or self.policy_arns) or self.federated_by is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The sender of a request: an account, the ARN of the principal, and the session if its credential is temporary."""

    account: str
    principal: str
    user_id: str = ""
    """``aws:userid``: the user's unique id, the role's with the session's name, the account for its root.

    It is set when the key or the session is created: a new user or role with the same name has another id.
    """
    session: SessionContext | None = None

    def __hash__(self) -> int:
        # Called for every request: to hash a whole session would cost more than the decision. The time is included, because
        # a program may create one session after the other with the same name.
        return hash(self.principal) if self.session is None else hash((self.principal, self.session.issued))

    @property
    def is_root(self) -> bool:
        """Whether it is the account's root, who may do everything in its own account."""
        return self.principal.endswith(":root") and self.principal == root_arn(self.account)

    @property
    def user_name(self) -> str | None:
        """The user's name; None for roles and root."""
        principal_type, _, rest = self.principal.split(":", 5)[-1].partition("/")
        return rest.rpartition("/")[2] if principal_type == "user" else None

    @property
    def role_name(self) -> str | None:
        """The role's name; None for users and root."""
        role = self.session.role if self.session is not None else None
        return None if role is None else role.rpartition("/")[2]

    @property
    def federated_by(self) -> str | None:
        """The ARN of the creator of a federated user's session; None for other callers."""
        return None if self.session is None else self.session.federated_by

    @property
    def arn_for_policies(self) -> str:
        """The value of ``aws:PrincipalArn``: for sessions of a role, the role's ARN."""
        role = self.session.role if self.session is not None else None
        return role or self.principal

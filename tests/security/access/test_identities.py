"""No caller gets more than its policies allow: by groups, by boundaries, by passing roles, by tokens of others."""

import base64
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable
from typing import Any

import pytest
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError

from penstock.testing.server import RunningServer
from penstock.testing.web_tokens import TokenIssuer
from tests.security.targets import Keys, Target

ADMINISTRATOR = "arn:aws:iam::aws:policy/AdministratorAccess"


def policy(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def allow(actions: str | list[str], resources: str = "*", **more: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": actions, "Resource": resources, **more}


def name(kind: str) -> str:
    return f"{kind}-{secrets.token_hex(4)}"


def new_user(target: Target, *statements: dict[str, Any], **more: Any) -> tuple[str, Keys]:
    """Return a new user's name, and its credentials as arguments of clients."""
    iam, user = target.client("iam"), name("user")
    iam.create_user(UserName=user, **more)
    if statements:
        iam.put_user_policy(UserName=user, PolicyName="p", PolicyDocument=policy(*statements))
    key = iam.create_access_key(UserName=user)["AccessKey"]
    return user, Keys(access_key_id=key["AccessKeyId"], secret_access_key=key["SecretAccessKey"])


def denied(call: Callable[..., Any], **arguments: Any) -> str:
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    error = caught.value.response["Error"]
    assert error["Code"] in {"AccessDenied", "AccessDeniedException"}, error
    return error["Message"]


@pytest.fixture
def bounded(target: Target) -> tuple[str, str, Keys]:
    """A delegated administrator: its boundary allows IAM only for users that have the same boundary."""
    iam = target.client("iam")
    boundary = f"arn:aws:iam::{target.account}:policy/{name('boundary')}"
    bound = {"StringEquals": {"iam:PermissionsBoundary": boundary}}
    iam.create_policy(
        PolicyName=boundary.rpartition("/")[2],
        PolicyDocument=policy(
            allow("glue:List*"),
            allow(["iam:CreateUser", "iam:AttachUserPolicy", "iam:PutUserPolicy"], Condition=bound),
            allow(["iam:CreateAccessKey", "iam:GetUser", "iam:CreateGroup", "iam:AddUserToGroup", "iam:AttachGroupPolicy"]),
        ),
    )
    user, credentials = new_user(target, allow("*"), PermissionsBoundary=boundary)
    return boundary, user, credentials


def test_a_bounded_administrator_cannot_remove_the_boundary(target: Target, bounded: tuple[str, str, Keys]) -> None:
    boundary, user, credentials = bounded
    iam = target.client("iam", **credentials)
    denied(iam.delete_user_permissions_boundary, UserName=user)
    denied(iam.put_user_permissions_boundary, UserName=user, PermissionsBoundary=ADMINISTRATOR)
    denied(iam.create_policy_version, PolicyArn=boundary, PolicyDocument=policy(allow("*")), SetAsDefault=True)
    denied(iam.create_user, UserName=name("free"))
    denied(iam.create_user, UserName=name("free"), PermissionsBoundary=ADMINISTRATOR)
    # It may attach any policies and groups, but they grant nothing beyond the boundary.
    iam.attach_user_policy(UserName=user, PolicyArn=ADMINISTRATOR)
    group = name("group")
    iam.create_group(GroupName=group)
    iam.attach_group_policy(GroupName=group, PolicyArn=ADMINISTRATOR)
    iam.add_user_to_group(GroupName=group, UserName=user)
    target.client("glue", **credentials).list_registries()
    denied(target.client("glue", **credentials).create_registry, RegistryName=name("registry"))


def test_users_that_a_bounded_administrator_creates_are_bounded_too(target: Target, bounded: tuple[str, str, Keys]) -> None:
    boundary, _, credentials = bounded
    iam, made = target.client("iam", **credentials), name("made")
    iam.create_user(UserName=made, PermissionsBoundary=boundary)
    iam.attach_user_policy(UserName=made, PolicyArn=ADMINISTRATOR)
    key = iam.create_access_key(UserName=made)["AccessKey"]
    theirs = {"access_key_id": key["AccessKeyId"], "secret_access_key": key["SecretAccessKey"]}
    denied(target.client("glue", **theirs).create_registry, RegistryName=name("registry"))
    denied(target.client("iam", **theirs).delete_user_permissions_boundary, UserName=made)
    unbounded, _ = new_user(target)
    denied(iam.attach_user_policy, UserName=unbounded, PolicyArn=ADMINISTRATOR)


def test_not_action_and_not_resource_do_not_reach_past_a_boundary(target: Target) -> None:
    iam = target.client("iam")
    boundary = iam.create_policy(
        PolicyName=name("boundary"),
        PolicyDocument=policy({"Effect": "Allow", "NotAction": ["iam:*", "sts:*"], "Resource": "*"}),
    )["Policy"]["Arn"]
    everything = {"Effect": "Allow", "NotAction": "none:None", "NotResource": "arn:aws:none:::none"}
    user, credentials = new_user(target, everything, PermissionsBoundary=boundary)
    target.client("glue", **credentials).list_registries()
    denied(target.client("iam", **credentials).create_access_key, UserName=user)
    denied(target.client("iam", **credentials).list_users)


def test_a_deny_on_a_group_or_a_profile_keeps_it_out_of_lists(target: Target) -> None:
    iam, hidden = target.client("iam"), name("hidden")
    iam.create_group(GroupName=hidden)
    iam.create_instance_profile(InstanceProfileName=hidden)
    denied_ones = [f"arn:aws:iam::{target.account}:{kind}/{hidden}" for kind in ("group", "instance-profile")]
    _, credentials = new_user(target, allow("iam:*"), {"Effect": "Deny", "Action": "iam:Get*", "Resource": denied_ones})
    own = target.client("iam", **credentials)
    assert hidden not in {group["GroupName"] for group in own.list_groups()["Groups"]}
    assert hidden not in {
        instance_profile["InstanceProfileName"] for instance_profile in own.list_instance_profiles()["InstanceProfiles"]
    }
    assert hidden in {group["GroupName"] for group in iam.list_groups()["Groups"]}


def test_a_user_cannot_join_a_group_without_permission(target: Target) -> None:
    iam, group = target.client("iam"), name("admins")
    iam.create_group(GroupName=group)
    iam.attach_group_policy(GroupName=group, PolicyArn=ADMINISTRATOR)
    user, credentials = new_user(target, allow("iam:*", f"arn:aws:iam::{target.account}:user/${{aws:username}}"))
    own = target.client("iam", **credentials)
    denied(own.add_user_to_group, GroupName=group, UserName=user)
    denied(own.attach_group_policy, GroupName=group, PolicyArn=ADMINISTRATOR)
    denied(own.put_group_policy, GroupName=group, PolicyName="p", PolicyDocument=policy(allow("*")))


SUBJECT = "system:serviceaccount:data:reader"
AUDIENCE = "sts.amazonaws.com"


@pytest.fixture(scope="module")
def trusting(servers: list[RunningServer], issuer: TokenIssuer) -> tuple[str, str]:
    """A role of an account whose provider is the issuer, and a call to assume it by a token on either server."""
    root = servers[0]
    iam = root.client("iam")
    provider = iam.create_open_id_connect_provider(Url=issuer.url, ClientIDList=[AUDIENCE])["OpenIDConnectProviderArn"]
    condition = {"StringEquals": {f"{issuer.url.removeprefix('https://')}:sub": SUBJECT}}
    trust = {
        "Effect": "Allow",
        "Principal": {"Federated": provider},
        "Action": "sts:AssumeRoleWithWebIdentity",
        "Condition": condition,
    }
    role = iam.create_role(RoleName=name("pod"), AssumeRolePolicyDocument=policy(trust))["Role"]["Arn"]
    return role, provider


def assume(server: RunningServer, role: str, token: str) -> Any:
    config = Config(signature_version=UNSIGNED, retries={"total_max_attempts": 1})
    sts = server.client("sts", config=config)
    return sts.assume_role_with_web_identity(RoleArn=role, RoleSessionName="job", WebIdentityToken=token)


def refused_token(server: RunningServer, role: str, token: str) -> str:
    with pytest.raises(ClientError) as caught:
        assume(server, role, token)
    assert "Credentials" not in caught.value.response
    return caught.value.response["Error"]["Code"]


def unsigned_token(issuer: TokenIssuer, header: dict[str, Any], secret: bytes | None = None) -> str:
    """Return a token with another algorithm: ``none``, or a MAC with ``secret`` as its key."""

    def encoded(value: bytes) -> str:
        return base64.urlsafe_b64encode(value).rstrip(b"=").decode()

    text = ".".join(encoded(json.dumps(part).encode()) for part in (header, issuer.claims(SUBJECT)))
    mac = b"" if secret is None else hmac.new(secret, text.encode(), hashlib.sha256).digest()
    return f"{text}.{encoded(mac)}"


def test_the_issuers_token_is_accepted_by_every_server(
    servers: list[RunningServer], issuer: TokenIssuer, trusting: tuple[str, str]
) -> None:
    for server in servers:
        assert assume(server, trusting[0], issuer.token(SUBJECT))["Provider"] == trusting[1]


def test_tokens_with_wrong_claims_are_refused(
    servers: list[RunningServer], issuer: TokenIssuer, trusting: tuple[str, str]
) -> None:
    now, role = int(time.time()), trusting[0]
    wrong = {
        "another audience": issuer.token(SUBJECT, aud="kubernetes"),
        "no audience": issuer.token(SUBJECT, aud=None),
        "an authorized party besides": issuer.token(SUBJECT, azp="another"),
        "another issuer": issuer.token(SUBJECT, iss="https://evil.example.com"),
        "the issuer in capitals": issuer.token(SUBJECT, iss=issuer.url.replace("cluster", "CLUSTER")),
        "the issuer over http": issuer.token(SUBJECT, iss=issuer.url.replace("https", "http")),
        "expired": issuer.token(SUBJECT, exp=now - 120),
        "without an end": issuer.token(SUBJECT, exp=None),
        "an end that is not a number": issuer.token(SUBJECT, exp=float("nan")),
        "not valid yet": issuer.token(SUBJECT, nbf=now + 600),
        "issued later": issuer.token(SUBJECT, iat=now + 600),
    }
    codes = {why: refused_token(servers[0], role, token) for why, token in wrong.items()}
    assert codes == dict.fromkeys(wrong, "InvalidIdentityToken") | {"expired": "ExpiredTokenException"}
    # Of the issuer, and of another subject than the role's trust policy says.
    for subject in ("system:serviceaccount:data:writer", SUBJECT.upper(), f"{SUBJECT} "):
        assert refused_token(servers[0], role, issuer.token(subject)) == "AccessDenied"


def test_a_signature_has_to_be_the_issuers_and_of_a_public_key(
    servers: list[RunningServer], issuer: TokenIssuer, trusting: tuple[str, str]
) -> None:
    role, good = trusting[0], issuer.token(SUBJECT)
    head, claims, signature = good.split(".")
    key_set = json.dumps(issuer.key_set()["keys"][0]).encode()
    wrong = [
        TokenIssuer(issuer.url, issuer.kid).token(SUBJECT),  # the key of somebody else under the same id
        issuer.token(SUBJECT, header={"kid": "other"}),
        issuer.token(SUBJECT, header={"alg": "RS384"}),
        issuer.token(SUBJECT, header={"alg": ["RS256"]}),
        issuer.token(SUBJECT, header={"crit": ["x"], "x": 1}),
        unsigned_token(issuer, {"alg": "none"}),
        unsigned_token(issuer, {"alg": "None", "kid": issuer.kid}),
        unsigned_token(issuer, {"alg": "HS256", "kid": issuer.kid}, key_set),
        f"{head}.{claims}.",
        f"{head}.{claims}",
        f"{head}.{claims}.{signature}.{signature}",
        f"{head}.{base64.urlsafe_b64encode(json.dumps(issuer.claims('root')).encode()).decode()}.{signature}",
        "." * 100,
        "x" * 20_000,
        base64.urlsafe_b64encode(b"[" * 9_000).decode() + ".e30.x",
    ]
    assert {refused_token(servers[0], role, token) for token in wrong} == {"InvalidIdentityToken"}
    evil = TokenIssuer(issuer.url, issuer.kid)
    assert assume(servers[0], role, issuer.token(SUBJECT, header={"jku": "https://evil.example.com/keys"}))
    # Keys that a header names or contains are ignored.
    for header in ({"jku": "https://evil.example.com/keys"}, {"jwk": {"kty": "RSA", "n": "AQAB", "e": "AQAB"}}):
        assert refused_token(servers[0], role, evil.token(SUBJECT, header=header)) == "InvalidIdentityToken"


def test_a_token_does_not_assume_a_role_that_does_not_name_its_provider(
    servers: list[RunningServer], issuer: TokenIssuer, trusting: tuple[str, str]
) -> None:
    root = servers[0]
    iam, action = root.client("iam"), "sts:AssumeRoleWithWebIdentity"
    elsewhere = f"arn:aws:iam::111122223333:oidc-provider/{issuer.url.removeprefix('https://')}"
    for principal in ("*", {"AWS": "*"}, {"AWS": root.account}, {"Federated": elsewhere}, {"Federated": "*"}):
        trust = {"Effect": "Allow", "Principal": principal, "Action": ["sts:*", action]}
        role = iam.create_role(RoleName=name("role"), AssumeRolePolicyDocument=policy(trust))["Role"]["Arn"]
        assert refused_token(root, role, issuer.token(SUBJECT)) == "AccessDenied"
    assert refused_token(root, trusting[0] + "x", issuer.token(SUBJECT)) == "AccessDenied"
    # A role of another account, which does not have the provider.
    other = root.client("organizations").create_account(AccountName="other", Email="other@example.com")
    role = f"arn:aws:iam::{other['CreateAccountStatus']['AccountId']}:role/OrganizationAccountAccessRole"
    assert refused_token(root, role, issuer.token(SUBJECT)) == "InvalidIdentityToken"


def test_a_deny_in_the_trust_policy_holds_for_tokens(
    servers: list[RunningServer], issuer: TokenIssuer, trusting: tuple[str, str]
) -> None:
    iam = servers[0].client("iam")
    named: dict[str, Any] = {"Principal": {"Federated": trusting[1]}, "Action": "sts:AssumeRoleWithWebIdentity"}
    trust = [{"Effect": "Allow", **named}, {"Effect": "Deny", "Principal": "*", "Action": "sts:*"}]
    role = iam.create_role(RoleName=name("role"), AssumeRolePolicyDocument=policy(*trust))["Role"]["Arn"]
    assert refused_token(servers[0], role, issuer.token(SUBJECT)) == "AccessDenied"


def test_no_other_operation_is_allowed_without_a_signature(target: Target) -> None:
    config = Config(signature_version=UNSIGNED, retries={"total_max_attempts": 1})
    for service, operation, more in (
        ("sts", "get_caller_identity", {}),
        ("sts", "assume_role", {"RoleArn": "arn:aws:iam::000000000000:role/x", "RoleSessionName": "job"}),
        ("iam", "list_users", {}),
        ("iam", "create_user", {"UserName": "x"}),
        ("glue", "list_registries", {}),
    ):
        client = target.client(service, config=config)
        with pytest.raises(ClientError) as caught:
            getattr(client, operation)(**more)
        assert caught.value.response["Error"]["Code"].startswith("MissingAuthenticationToken")


def test_a_federated_user_administers_nothing_and_goes_no_further(target: Target) -> None:
    user, credentials = new_user(target, allow("*"))
    given = target.client("sts", **credentials).get_federation_token(Name="guest", Policy=policy(allow("*")))["Credentials"]
    guest = {
        "access_key_id": given["AccessKeyId"],
        "secret_access_key": given["SecretAccessKey"],
        "aws_session_token": given["SessionToken"],
    }
    target.client("glue", **guest).list_registries()
    iam, sts = target.client("iam", **guest), target.client("sts", **guest)
    for call, more in (
        (iam.list_users, {}),
        (iam.create_access_key, {"UserName": user}),
        (iam.attach_user_policy, {"UserName": user, "PolicyArn": ADMINISTRATOR}),
    ):
        with pytest.raises(ClientError) as caught:
            call(**more)
        assert caught.value.response["Error"]["Code"] == "InvalidClientTokenId"
    trust = policy({"Effect": "Allow", "Principal": {"AWS": target.account}, "Action": "sts:AssumeRole"})
    role = target.client("iam").create_role(RoleName=name("role"), AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    denied(sts.assume_role, RoleArn=role, RoleSessionName="job")
    denied(sts.get_session_token)
    denied(sts.get_federation_token, Name="another")


def test_rotation_by_a_function_needs_permission_to_invoke_it(target: Target) -> None:
    secret, function = name("rotated"), f"arn:aws:lambda:{target.region}:{target.account}:function:rotator"
    target.client("secretsmanager").create_secret(Name=secret, SecretString="one")
    user, credentials = new_user(target, allow("secretsmanager:*"))
    own = target.client("secretsmanager", **credentials)
    assert "lambda:InvokeFunction" in denied(own.rotate_secret, SecretId=secret, RotationLambdaARN=function)
    assert "RotationEnabled" not in own.describe_secret(SecretId=secret)
    rights = policy(allow("secretsmanager:*"), allow("lambda:InvokeFunction", function))
    target.client("iam").put_user_policy(UserName=user, PolicyName="p", PolicyDocument=rights)
    begun = own.rotate_secret(SecretId=secret, RotationLambdaARN=function)["VersionId"]
    assert own.describe_secret(SecretId=secret)["VersionIdsToStages"][begun] == ["AWSPENDING"]
    assert own.get_secret_value(SecretId=secret)["SecretString"] == "one"

"""Tokens of identity providers and of federated users, through boto3 as programs and Kubernetes pods use them."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError

from penstock.testing.polling import eventually
from penstock.testing.server import RunningServer, running_server
from penstock.testing.web_tokens import TokenIssuer
from tests.integration.accounts.accounts_world import Identity, allow, policy

ISSUER = "https://oidc.example.com/id/Cluster1"
SUBJECT = "system:serviceaccount:data:reader"
READ = "arn:aws:iam::aws:policy/AWSGlueSchemaRegistryReadonlyAccess"
ADMINISTRATOR = "arn:aws:iam::aws:policy/AdministratorAccess"


@pytest.fixture(scope="module")
def issuer() -> TokenIssuer:
    return TokenIssuer(ISSUER)


@pytest.fixture(scope="module")
def keys(issuer: TokenIssuer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("keys") / "jwks.json"
    file.write_text(json.dumps(issuer.key_set()))
    return file


@pytest.fixture(scope="module")
def server(keys: Path) -> Iterator[RunningServer]:
    with running_server(arguments=["--oidc-keys", f"{ISSUER}={keys}"]) as running:
        yield running


@pytest.fixture(scope="module")
def role(server: RunningServer) -> str:
    """A role that the service account may assume."""
    iam = server.client("iam")
    provider = iam.create_open_id_connect_provider(Url=ISSUER, ClientIDList=["sts.amazonaws.com"])
    trust = {
        "Effect": "Allow",
        "Principal": {"Federated": provider["OpenIDConnectProviderArn"]},
        "Action": "sts:AssumeRoleWithWebIdentity",
        "Condition": {
            "StringEquals": {
                "oidc.example.com/id/Cluster1:sub": SUBJECT,
                "oidc.example.com/id/Cluster1:aud": "sts.amazonaws.com",
            }
        },
    }
    made = iam.create_role(RoleName="pod", AssumeRolePolicyDocument=policy(trust))["Role"]
    iam.attach_role_policy(RoleName="pod", PolicyArn=READ)
    return str(made["Arn"])


def refused(call: Any, **arguments: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


def anonymous(server: RunningServer) -> Any:
    return server.client("sts", config=Config(signature_version=UNSIGNED, retries={"total_max_attempts": 1}))


def test_a_pod_gets_credentials_for_its_token_file(
    server: RunningServer, role: str, issuer: TokenIssuer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "token"
    file.write_text(issuer.token(SUBJECT))
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_REGION", server.region)
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(file))
    monkeypatch.setenv("AWS_ROLE_ARN", role)
    monkeypatch.setenv("AWS_ROLE_SESSION_NAME", "pod-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint_url)
    session = boto3.session.Session(region_name=server.region)
    who = session.client("sts").get_caller_identity()
    assert who["Arn"] == f"arn:aws:sts::{server.account}:assumed-role/pod/pod-1"
    session.client("glue").list_registries()
    assert refused(session.client("glue").create_registry, RegistryName="x")[0] == "AccessDeniedException"


def test_the_answer_names_the_subject_of_the_token(server: RunningServer, role: str, issuer: TokenIssuer) -> None:
    answer = anonymous(server).assume_role_with_web_identity(
        RoleArn=role, RoleSessionName="one", WebIdentityToken=issuer.token(SUBJECT), DurationSeconds=900
    )
    assert answer["SubjectFromWebIdentityToken"] == SUBJECT
    assert answer["Audience"] == "sts.amazonaws.com"
    assert answer["Provider"] == f"arn:aws:iam::{server.account}:oidc-provider/oidc.example.com/id/Cluster1"
    assert answer["AssumedRoleUser"]["Arn"].endswith("assumed-role/pod/one")


def test_a_pods_login_is_in_the_audit_log(server: RunningServer, role: str, issuer: TokenIssuer) -> None:
    answer = anonymous(server).assume_role_with_web_identity(
        RoleArn=role, RoleSessionName="one", WebIdentityToken=issuer.token(SUBJECT)
    )
    request_id = answer["ResponseMetadata"]["RequestId"].encode()

    def found() -> list[bytes]:
        lines = [line for file in (server.home / "audit").glob("*.jsonl") for line in file.read_bytes().splitlines()]
        return [line for line in lines if request_id in line]

    eventually(lambda: bool(found()), "the record of the login", 15)
    record = json.loads(found()[0])
    assert (record["eventName"], record["additionalEventData"]["decision"]) == ("AssumeRoleWithWebIdentity", "allowed")
    assert record["recipientAccountId"] == server.account
    assert [resource["ARN"] for resource in record["resources"]] == [role]
    assert record["requestParameters"]["webIdentityToken"] == "***OMITTED***"


def test_a_session_policy_limits_a_pods_session(server: RunningServer, role: str, issuer: TokenIssuer) -> None:
    given = anonymous(server).assume_role_with_web_identity(
        RoleArn=role,
        RoleSessionName="one",
        WebIdentityToken=issuer.token(SUBJECT),
        Policy=policy(allow("glue:GetSchema", "*")),
    )["Credentials"]
    assert refused(Identity(server, given).client("glue").list_registries)[0] == "AccessDeniedException"


def test_a_token_is_refused_if_the_account_lacks_its_provider(
    role: str, issuer: TokenIssuer, keys: Path, tmp_path: Path
) -> None:
    with running_server(tmp_path, arguments=["--oidc-keys", f"{ISSUER}={keys}"]) as other:
        assert other.client("iam").list_open_id_connect_providers()["OpenIDConnectProviderList"] == []
        call = {"RoleArn": role, "RoleSessionName": "one", "WebIdentityToken": issuer.token(SUBJECT)}
        assert refused(anonymous(other).assume_role_with_web_identity, **call)[0] == "InvalidIdentityToken"


def test_providers_are_administered(server: RunningServer, role: str) -> None:
    iam = server.client("iam")
    url = "https://accounts.example.org/"
    tags = [{"Key": "a", "Value": "b"}]
    arn = iam.create_open_id_connect_provider(Url=url, ThumbprintList=["0" * 40], Tags=tags)["OpenIDConnectProviderArn"]
    assert arn == f"arn:aws:iam::{server.account}:oidc-provider/accounts.example.org/"
    assert refused(iam.create_open_id_connect_provider, Url=url)[0] == "EntityAlreadyExists"
    for wrong in ("http://a.example.org", "https://a.example.org:8443", "https://a.example.org/?x=1", "https://"):
        assert refused(iam.create_open_id_connect_provider, Url=wrong)[0] == "InvalidInput"
    iam.add_client_id_to_open_id_connect_provider(OpenIDConnectProviderArn=arn, ClientID="one")
    iam.add_client_id_to_open_id_connect_provider(OpenIDConnectProviderArn=arn, ClientID="two")
    iam.remove_client_id_from_open_id_connect_provider(OpenIDConnectProviderArn=arn, ClientID="one")
    iam.update_open_id_connect_provider_thumbprint(OpenIDConnectProviderArn=arn, ThumbprintList=["f" * 40])
    iam.tag_open_id_connect_provider(OpenIDConnectProviderArn=arn, Tags=[{"Key": "c", "Value": "d"}])
    iam.untag_open_id_connect_provider(OpenIDConnectProviderArn=arn, TagKeys=["a"])
    open_id_connect_provider = iam.get_open_id_connect_provider(OpenIDConnectProviderArn=arn)
    assert (
        open_id_connect_provider["Url"],
        open_id_connect_provider["ClientIDList"],
        open_id_connect_provider["ThumbprintList"],
    ) == ("accounts.example.org/", ["two"], ["f" * 40])
    assert open_id_connect_provider["Tags"] == [{"Key": "c", "Value": "d"}]
    assert iam.list_open_id_connect_provider_tags(OpenIDConnectProviderArn=arn)["Tags"] == open_id_connect_provider["Tags"]
    assert {"Arn": arn} in iam.list_open_id_connect_providers()["OpenIDConnectProviderList"]
    iam.delete_open_id_connect_provider(OpenIDConnectProviderArn=arn)
    assert refused(iam.get_open_id_connect_provider, OpenIDConnectProviderArn=arn)[0] == "NoSuchEntity"


def test_an_issuer_without_keys_is_an_error_for_the_operator(server: RunningServer, role: str) -> None:
    other = TokenIssuer("https://nokeys.example.com")
    iam = server.client("iam")
    arn = iam.create_open_id_connect_provider(Url=other.url, ClientIDList=["sts.amazonaws.com"])["OpenIDConnectProviderArn"]
    call = {"RoleArn": role, "RoleSessionName": "one", "WebIdentityToken": other.token(SUBJECT)}
    code, message = refused(anonymous(server).assume_role_with_web_identity, **call)
    assert (code, "--oidc-keys" in message) == ("IDPCommunicationError", True)
    iam.delete_open_id_connect_provider(OpenIDConnectProviderArn=arn)


def federate(server: RunningServer, by: Any, **more: Any) -> Identity:
    return Identity(server, by.get_federation_token(**{"Name": "guest", **more})["Credentials"])


@pytest.fixture(scope="module")
def broker(server: RunningServer) -> Identity:
    """A user that may read the registry's schemas, and create federated users."""
    iam = server.client("iam")
    iam.create_user(UserName="broker")
    token = allow("sts:GetFederationToken", f"arn:aws:sts::{server.account}:federated-user/guest")
    rights = policy(token, allow(["glue:ListRegistries", "iam:*", "sts:*"], "*"))
    iam.put_user_policy(UserName="broker", PolicyName="p", PolicyDocument=rights)
    return Identity(server, iam.create_access_key(UserName="broker")["AccessKey"])


def test_a_federated_user_may_do_what_both_policies_allow(server: RunningServer, broker: Identity) -> None:
    guest = federate(server, broker.client("sts"), Policy=policy(allow("glue:*", "*")))
    who = guest.client("sts").get_caller_identity()
    assert who["Arn"] == f"arn:aws:sts::{server.account}:federated-user/guest"
    assert who["UserId"] == f"{server.account}:guest"
    guest.client("glue").list_registries()
    assert "no identity-based policy" in refused(guest.client("glue").create_registry, RegistryName="x")[1]
    none = federate(server, broker.client("sts"))
    assert "no session policy" in refused(none.client("glue").list_registries)[1]
    by_arn = federate(server, broker.client("sts"), PolicyArns=[{"arn": READ}], DurationSeconds=900)
    by_arn.client("glue").list_registries()


def test_a_federated_user_of_root_is_limited_by_the_session_policy(server: RunningServer) -> None:
    guest = federate(server, server.client("sts"), Policy=policy(allow("glue:List*", "*")))
    guest.client("glue").list_registries()
    assert refused(guest.client("glue").create_registry, RegistryName="x")[0] == "AccessDeniedException"


def test_a_federated_user_ends_with_its_user(server: RunningServer) -> None:
    iam = server.client("iam")
    iam.create_user(UserName="leaver")
    iam.attach_user_policy(UserName="leaver", PolicyArn=ADMINISTRATOR)
    leaver = Identity(server, iam.create_access_key(UserName="leaver")["AccessKey"])
    guest = federate(server, leaver.client("sts"), Policy=policy(allow("*", "*")))
    guest.client("glue").list_registries()
    iam.detach_user_policy(UserName="leaver", PolicyArn=ADMINISTRATOR)
    assert refused(guest.client("glue").list_registries)[0] == "AccessDeniedException"
    iam.delete_access_key(UserName="leaver", AccessKeyId=leaver.credentials["AccessKeyId"])
    iam.delete_user(UserName="leaver")
    assert refused(guest.client("glue").list_registries)[0] == "UnrecognizedClientException"


def test_policies_decide_who_may_federate(server: RunningServer, broker: Identity) -> None:
    iam = server.client("iam")
    iam.create_user(UserName="plain")
    plain = Identity(server, iam.create_access_key(UserName="plain")["AccessKey"])
    assert refused(plain.client("sts").get_federation_token, Name="guest")[0] == "AccessDenied"
    session = Identity(server, broker.client("sts").get_session_token()["Credentials"])
    assert "session credentials" in refused(session.client("sts").get_federation_token, Name="guest")[1]

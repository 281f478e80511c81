"""Who may do what: signatures, bearer tokens, IAM's policies, vended credentials, remote signing."""

import json
from typing import Any

import boto3
import pyarrow as pa
import pytest
import requests
from botocore.exceptions import ClientError
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import ForbiddenError, OAuthError, UnauthorizedError

from penstock.testing.polling import eventually
from tests.integration.iceberg.requests_to import Client, get_token
from tests.integration.iceberg.world import KEY, SECRET, World

ROWS = pa.table({"id": [1, 2, 3]})
READER: dict[str, Any] = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Action": ["glue:GetCatalog", "glue:GetDatabases", "glue:GetDatabase"], "Resource": "*"},
        {"Effect": "Allow", "Action": ["glue:GetTable", "glue:GetTables"], "Resource": "*"},
        {"Effect": "Deny", "Action": "glue:GetTable", "Resource": "arn:aws:glue:*:*:table/*/hidden"},
        {"Effect": "Allow", "Action": "s3:*", "Resource": "*"},
    ],
}


@pytest.fixture(scope="module")
def iam(world: World) -> Any:
    return world.server.client("iam")


@pytest.fixture(scope="module")
def reader(iam: Any) -> tuple[str, str]:
    iam.create_user(UserName="reader")
    iam.put_user_policy(UserName="reader", PolicyName="reads", PolicyDocument=json.dumps(READER))
    key = iam.create_access_key(UserName="reader")["AccessKey"]
    return key["AccessKeyId"], key["SecretAccessKey"]


def s3_of(world: World, config: dict[str, str]) -> Any:
    make_client: Any = boto3.client
    return make_client(
        "s3",
        endpoint_url=config["s3.endpoint"],
        region_name=config["client.region"],
        aws_access_key_id=config["s3.access-key-id"],
        aws_secret_access_key=config["s3.secret-access-key"],
        aws_session_token=config["s3.session-token"],
    )


def refused(call: Any, **arguments: Any) -> bool:
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    return caught.value.response["Error"]["Code"] in {"AccessDenied", "403"}


def test_signatures_and_tokens_reach_the_same_catalog(world: World, namespace: str) -> None:
    assert (namespace,) in world.signed().list_namespaces()
    assert (namespace,) in world.bearer().list_namespaces()
    with pytest.raises((ForbiddenError, UnauthorizedError)):
        world.signed(secret="wrong" * 8)
    with pytest.raises(OAuthError):
        world.bearer(secret="wrong" * 8)


def test_a_signature_for_another_service_is_refused(world: World) -> None:
    with pytest.raises((ForbiddenError, UnauthorizedError), match="correct service: 'glue'"):
        world.signed(**{"rest.signing-name": "execute-api"})


def test_temporary_credentials_sign_requests_and_get_tokens(world: World, namespace: str) -> None:
    session = world.server.client("sts").get_session_token()["Credentials"]
    signed = world.signed(
        session["AccessKeyId"], session["SecretAccessKey"], **{"client.session-token": session["SessionToken"]}
    )
    assert (namespace,) in signed.list_namespaces()


@pytest.mark.parametrize("token", ["", "x", "!" * 50, "A" * 40_000])
def test_tokens_that_the_server_did_not_give_are_refused(world: World, token: str) -> None:
    answer = Client(world, token).get("/namespaces")
    assert answer.status_code in {400, 401, 431}
    unsigned = requests.get(f"{world.uri}/v1/config", timeout=10)
    assert (unsigned.status_code, unsigned.json()["error"]["type"]) == (401, "NotAuthorizedException")


def test_a_changed_token_is_refused(world: World) -> None:
    token = get_token(world)
    middle = len(token) // 2
    changed = token[:middle] + ("A" if token[middle] != "A" else "B") + token[middle + 1 :]
    assert Client(world, changed).get("/namespaces").status_code == 401


def test_a_token_ends_with_its_access_key(world: World, iam: Any) -> None:
    iam.create_user(UserName="leaving")
    iam.put_user_policy(UserName="leaving", PolicyName="reads", PolicyDocument=json.dumps(READER))
    key = iam.create_access_key(UserName="leaving")["AccessKey"]
    client = Client(world, get_token(world, key["AccessKeyId"], key["SecretAccessKey"]))
    assert client.get("/namespaces").status_code == 200
    iam.update_access_key(UserName="leaving", AccessKeyId=key["AccessKeyId"], Status="Inactive")
    eventually(lambda: client.get("/namespaces").status_code == 401, "the token of an inactive key is refused", 15)


def test_tokens_are_exchanged_for_new_ones(world: World) -> None:
    exchange = {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "subject_token_type": "urn:ietf:params:oauth:token-type:access_token",
    }
    url = f"{world.uri}/v1/oauth/tokens"
    answer = requests.post(url, data={**exchange, "subject_token": get_token(world)}, timeout=10)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert Client(world, answer.json()["access_token"]).get("/namespaces").status_code == 200
    wrong = requests.post(url, data={**exchange, "subject_token": "made-up"}, timeout=10)
    assert (wrong.status_code, wrong.json()["error"]) == (400, "invalid_grant")
    basic = requests.post(url, data={"grant_type": "client_credentials"}, auth=(KEY, SECRET), timeout=10)
    assert basic.status_code == 200
    for form, error in [
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": "client_credentials"}, "invalid_client"),
        ({"grant_type": "client_credentials", "client_id": KEY, "client_secret": "no"}, "invalid_client"),
        ({"grant_type": "client_credentials", "client_id": "AKIANOBODY", "client_secret": "no"}, "invalid_client"),
    ]:
        assert requests.post(url, data=form, timeout=10).json()["error"] == error


def test_policies_hold_for_each_route(world: World, catalog: RestCatalog, reader: tuple[str, str], namespace: str) -> None:
    table = catalog.create_table(f"{namespace}.t", ROWS.schema)
    catalog.create_table(f"{namespace}.hidden", ROWS.schema)
    client = Client(world, get_token(world, *reader))
    home = f"/namespaces/{namespace}"
    assert client.get(f"{home}/tables/t").status_code == 200
    assert [identifier["name"] for identifier in client.get(f"{home}/tables").json()["identifiers"]] == ["t"]
    rename = {
        "source": {"namespace": [namespace], "name": "t"},
        "destination": {"namespace": [namespace], "name": "u"},
    }
    change = {"identifier": {"namespace": [namespace], "name": "t"}, "requirements": [], "updates": []}
    schema = {"type": "struct", "fields": []}
    denied: list[tuple[str, str, Any]] = [
        ("POST", "/namespaces", {"namespace": ["other"]}),
        ("POST", f"{home}/properties", {"updates": {"a": "b"}}),
        ("DELETE", home, None),
        ("POST", f"{home}/tables", {"name": "x", "schema": schema}),
        ("POST", f"{home}/tables", {"name": "x", "schema": schema, "stage-create": True}),
        ("GET", f"{home}/tables/hidden", None),
        ("HEAD", f"{home}/tables/hidden", None),
        ("GET", f"{home}/tables/hidden/credentials", None),
        ("POST", f"{home}/tables/hidden/sign", {"method": "GET", "uri": world.store.endpoint_url, "region": "x"}),
        ("POST", f"{home}/tables/t", {"requirements": [], "updates": []}),
        ("DELETE", f"{home}/tables/t", None),
        ("DELETE", f"{home}/tables/t?purgeRequested=true", None),
        ("POST", f"{home}/register", {"name": "x", "metadata-location": table.metadata_location}),
        ("POST", "/tables/rename", rename),
        ("POST", "/transactions/commit", {"table-changes": [change]}),
        ("POST", f"{home}/views", {"name": "x", "schema": schema, "view-version": {}}),
        ("POST", f"{home}/views/t", {"requirements": [], "updates": []}),
        ("DELETE", f"{home}/views/t", None),
        ("POST", f"{home}/register-view", {"name": "x", "metadata-location": table.metadata_location}),
        ("POST", "/views/rename", rename),
    ]
    for method, path, body in denied:
        answer = client.send(method, path, body)
        assert answer.status_code == 403, f"{method} {path}: {answer.status_code} {answer.text}"
        if method != "HEAD":
            assert answer.json()["error"]["type"] == "ForbiddenException"
            assert "glue:" in answer.json()["error"]["message"]
    assert catalog.load_table(f"{namespace}.t").metadata_location == table.metadata_location


def test_a_purge_needs_the_right_to_delete_objects(world: World, catalog: RestCatalog, iam: Any, namespace: str) -> None:
    table = catalog.create_table(f"{namespace}.t", ROWS.schema)
    table.append(ROWS)
    iam.create_user(UserName="dropper")
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "glue:*", "Resource": "*"}]}
    iam.put_user_policy(UserName="dropper", PolicyName="glue", PolicyDocument=json.dumps(policy))
    key = iam.create_access_key(UserName="dropper")["AccessKey"]
    client = Client(world, get_token(world, key["AccessKeyId"], key["SecretAccessKey"]))
    path = f"/namespaces/{namespace}/tables/t"
    refusal = client.send("DELETE", f"{path}?purgeRequested=true")
    assert (refusal.status_code, "s3:DeleteObject" in refusal.text) == (403, True)
    assert catalog.load_table(f"{namespace}.t").scan().to_arrow().num_rows == 3
    assert client.send("DELETE", path).status_code == 204


def test_a_table_cannot_show_or_purge_files_of_others(world: World, catalog: RestCatalog, namespace: str) -> None:
    victim = catalog.create_table(f"{namespace}.victim", ROWS.schema)
    victim.append(ROWS)
    secret = world.server.lake / "lake" / "secret.json"
    secret.write_text('{"password": "hidden"}')
    world.server.client("glue").create_table(
        DatabaseName=namespace,
        TableInput={"Name": "t", "Parameters": {"table_type": "ICEBERG", "metadata_location": "s3://lake/secret.json"}},
    )
    shown = Client(world).get(f"/namespaces/{namespace}/tables/t")
    assert (shown.status_code, "hidden" in shown.text) == (400, False)

    assert victim.metadata_location is not None
    text = (world.server.lake / victim.metadata_location.removeprefix("s3://")).read_text()
    document = {**json.loads(text), "location": f"s3://lake/{namespace}/thief"}
    forged = world.server.lake / "lake" / "forged.metadata.json"
    forged.write_text(json.dumps(document))
    catalog.register_table(f"{namespace}.thief", "s3://lake/forged.metadata.json")
    catalog.purge_table(f"{namespace}.thief")
    assert catalog.load_table(f"{namespace}.victim").scan().to_arrow().num_rows == 3


def _user_who_assumes(world: World) -> dict[str, str]:
    iam = world.server.client("iam")
    iam.create_user(UserName="manager")
    grants = {"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [grants]})
    iam.put_user_policy(UserName="manager", PolicyName="assumes", PolicyDocument=document)
    key = iam.create_access_key(UserName="manager")["AccessKey"]
    return {"access_key_id": key["AccessKeyId"], "secret_access_key": key["SecretAccessKey"]}


def test_another_accounts_catalog_is_not_open(world: World) -> None:
    organizations = world.server.client("organizations")
    made = organizations.create_account(Email="other@example.com", AccountName="other")
    account = made["CreateAccountStatus"]["AccountId"]
    url = f"{world.uri}/v1/catalogs/{account}/namespaces"
    headers = {"Authorization": f"Bearer {get_token(world)}"}
    answer = requests.get(url, headers=headers, timeout=10)
    assert answer.status_code == 403

    # Its own people work in its own catalog and lake.
    sts = world.server.client("sts", **_user_who_assumes(world))
    arn = f"arn:aws:iam::{account}:role/OrganizationAccountAccessRole"
    session = sts.assume_role(RoleArn=arn, RoleSessionName="other")["Credentials"]
    token = {"client.session-token": session["SessionToken"]}
    other = world.signed(session["AccessKeyId"], session["SecretAccessKey"], **token)
    other.create_namespace("only_theirs")
    table = other.create_table("only_theirs.t", ROWS.schema)
    table.append(ROWS)
    assert other.load_table("only_theirs.t").scan().to_arrow().num_rows == 3
    assert ("only_theirs",) not in world.bearer().list_namespaces()
    assert not (world.server.lake / table.location().removeprefix("s3://")).exists()
    nobody = requests.get(f"{world.uri}/v1/catalogs/999999999999/namespaces", headers=headers, timeout=10)
    assert (nobody.status_code, nobody.json()["error"]["type"]) == (answer.status_code, "ForbiddenException")


def test_vended_credentials_reach_only_the_table(
    world: World, catalog: RestCatalog, reader: tuple[str, str], namespace: str
) -> None:
    table = catalog.create_table(f"{namespace}.t", ROWS.schema)
    table.append(ROWS)
    catalog.create_table(f"{namespace}.t2", ROWS.schema)
    prefix = table.location().removeprefix("s3://lake/")
    path = f"/namespaces/{namespace}/tables/t"
    loaded = Client(world).get(path, X_Iceberg_Access_Delegation="vended-credentials").json()
    [credential] = loaded["storage-credentials"]
    assert credential["prefix"] == f"{table.location()}/"
    s3 = s3_of(world, credential["config"])
    s3.put_object(Bucket="lake", Key=f"{prefix}/data/x", Body=b"1")
    assert s3.get_object(Bucket="lake", Key=f"{prefix}/data/x")["Body"].read() == b"1"
    assert s3.list_objects_v2(Bucket="lake", Prefix=f"{prefix}/")["KeyCount"] > 2
    s3.delete_object(Bucket="lake", Key=f"{prefix}/data/x")
    # Not the table whose name begins with this one's, and nothing else.
    assert refused(s3.put_object, Bucket="lake", Key=f"{prefix}2/data/x", Body=b"1")
    assert refused(s3.list_objects_v2, Bucket="lake", Prefix=f"{prefix}2/")
    assert refused(s3.list_objects_v2, Bucket="lake", Prefix=prefix), "it would show the neighbour"
    assert refused(s3.list_multipart_uploads, Bucket="lake", Prefix=prefix)
    assert refused(s3.list_multipart_uploads, Bucket="lake")
    s3.list_multipart_uploads(Bucket="lake", Prefix=f"{prefix}/")
    assert refused(s3.list_objects_v2, Bucket="lake")
    assert refused(s3.list_buckets)

    reads = Client(world, get_token(world, *reader)).get(f"{path}/credentials").json()
    s3 = s3_of(world, reads["storage-credentials"][0]["config"])
    assert s3.list_objects_v2(Bucket="lake", Prefix=f"{prefix}/")["KeyCount"] > 1
    assert refused(s3.put_object, Bucket="lake", Key=f"{prefix}/data/x", Body=b"1")
    assert refused(s3.delete_object, Bucket="lake", Key=f"{prefix}/data/x")
    s3.close()


def test_a_roles_session_gets_credentials_that_end_with_it(
    world: World, catalog: RestCatalog, iam: Any, namespace: str
) -> None:
    table = catalog.create_table(f"{namespace}.t", ROWS.schema)
    trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": world.server.account}}
    iam.create_role(RoleName="analyst", AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]}))
    iam.put_role_policy(RoleName="analyst", PolicyName="reads", PolicyDocument=json.dumps(READER))
    iam.create_user(UserName="person")
    grants = {"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": "*"}
    iam.put_user_policy(
        UserName="person",
        PolicyName="assumes",
        PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [grants]}),
    )
    key = iam.create_access_key(UserName="person")["AccessKey"]
    sts = world.server.client("sts", access_key_id=key["AccessKeyId"], secret_access_key=key["SecretAccessKey"])
    arn = iam.get_role(RoleName="analyst")["Role"]["Arn"]
    session = sts.assume_role(RoleArn=arn, RoleSessionName="day", DurationSeconds=900)["Credentials"]
    signed = world.signed(
        session["AccessKeyId"], session["SecretAccessKey"], **{"client.session-token": session["SessionToken"]}
    )
    properties = signed.load_table(f"{namespace}.t").io.properties
    assert int(properties["s3.session-token-expires-at-ms"]) <= session["Expiration"].timestamp() * 1000
    s3 = s3_of(world, {name: str(value) for name, value in properties.items()})
    prefix = table.location().removeprefix("s3://lake/")
    assert s3.list_objects_v2(Bucket="lake", Prefix=f"{prefix}/")["KeyCount"] == 1
    assert refused(s3.put_object, Bucket="lake", Key=f"{prefix}/data/x", Body=b"1")
    assert refused(s3.list_objects_v2, Bucket="lake", Prefix="other/")
    s3.close()


def test_credentials_are_vended_only_if_asked_for(world: World, catalog: RestCatalog, namespace: str) -> None:
    catalog.create_table(f"{namespace}.t", ROWS.schema)
    loaded = Client(world).get(f"/namespaces/{namespace}/tables/t").json()
    assert "storage-credentials" not in loaded
    assert "s3.secret-access-key" not in loaded["config"]
    assert loaded["config"]["s3.endpoint"] == world.store.endpoint_url


def test_a_session_with_a_policy_gets_no_wider_credentials(world: World, catalog: RestCatalog, namespace: str) -> None:
    catalog.create_table(f"{namespace}.t", ROWS.schema)
    allowed = {"Effect": "Allow", "Action": ["glue:*", "s3:GetObject"], "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    session = world.server.client("sts").get_federation_token(Name="narrow", Policy=policy)["Credentials"]
    narrow = world.signed(
        session["AccessKeyId"], session["SecretAccessKey"], **{"client.session-token": session["SessionToken"]}
    )
    table = narrow.load_table(f"{namespace}.t")
    assert "s3.session-token" not in table.io.properties


def test_requests_to_s3_are_signed_for_the_table(world: World, catalog: RestCatalog, namespace: str) -> None:
    table = catalog.create_table(f"{namespace}.t", ROWS.schema)
    table.append(ROWS)
    path = f"/namespaces/{namespace}/tables/t"
    client = Client(world)
    config = client.get(path, X_Iceberg_Access_Delegation="remote-signing").json()["config"]
    assert config["s3.remote-signing-enabled"] == "true"
    signer = f"{world.uri}/{config['s3.signer.endpoint']}"
    headers = {"Authorization": f"Bearer {client._token}"}

    def signed(method: str, url: str, signer: str = signer, **more: list[str]) -> requests.Response:
        body: Any = {"region": "us-east-1", "method": method, "uri": url, "headers": {"X-Given": ["1"], **more}}
        answer = requests.post(signer, json=body, headers=headers, timeout=10)
        assert answer.status_code == 200, answer.text
        sent = {name: values[0] for name, values in answer.json()["headers"].items()}
        return requests.request(method, answer.json()["uri"], headers=sent, timeout=10)

    assert table.metadata_location is not None
    mine = f"{world.store.endpoint_url}/{table.metadata_location.removeprefix('s3://')}"
    assert signed("GET", mine).json()["table-uuid"] == str(table.metadata.table_uuid)
    assert signed("GET", f"{world.store.endpoint_url}/lake/other/file").status_code == 403
    assert signed("PUT", f"{world.store.endpoint_url}/lake/other/file").status_code == 403
    assert signed("GET", mine, f"{world.uri}/v1/aws/s3/sign").status_code == 200
    body: Any = {"region": "us-east-1", "method": "GET", "uri": "http://example.com/lake/x", "headers": {}}
    elsewhere = requests.post(signer, json=body, headers=headers, timeout=10)
    assert (elsewhere.status_code, "Only requests to" in elsewhere.text) == (400, True)


def test_a_table_with_other_locations_gets_one_credential_for_all(
    world: World, catalog: RestCatalog, namespace: str
) -> None:
    properties = {"write.data.path": f"s3://lake/{namespace}/elsewhere"}
    table = catalog.create_table(f"{namespace}.t", ROWS.schema, properties=properties)
    table.append(ROWS)
    assert catalog.load_table(f"{namespace}.t").scan().to_arrow().num_rows == 3
    path = f"/namespaces/{namespace}/tables/t"
    [credential] = Client(world).get(f"{path}/credentials").json()["storage-credentials"]
    assert credential["prefix"] == "s3://lake/"
    assert credential["config"]["client.refresh-credentials-endpoint"].endswith(f"{path}/credentials")


def test_decisions_and_failed_logins_are_in_the_audit_log(world: World, reader: tuple[str, str]) -> None:
    client = Client(world, get_token(world, *reader))
    assert client.post("/namespaces", {"namespace": ["audited"]}).status_code == 403
    form = {"grant_type": "client_credentials", "client_id": reader[0], "client_secret": "mistyped"}
    assert requests.post(f"{world.uri}/v1/oauth/tokens", data=form, timeout=10).status_code == 401
    assert Client(world, "made-up").get("/namespaces").status_code == 401

    def recorded() -> bool:
        text = "".join(path.read_text() for path in (world.server.home / "audit").glob("*.jsonl"))
        events = [json.loads(line) for line in text.split("\n")[:-1]]
        denied = [event for event in events if event["eventName"] == "CreateDatabase" and "audited" in json.dumps(event)]
        failed = [event for event in events if event["eventSource"].startswith("iceberg")]
        tokens = [event for event in events if event["eventName"] == "GetToken"]
        decided = {(token["additionalEventData"]["decision"], token["userIdentity"].get("accessKeyId")) for token in tokens}
        assert not any("mistyped" in json.dumps(token) for token in tokens)
        told = {("allowed", reader[0]), ("failed login", reader[0])} <= decided
        return told and any(item.get("errorCode") == "AccessDeniedException" for item in denied) and len(failed) > 1

    eventually(recorded, "the denials are in the audit log", 15)

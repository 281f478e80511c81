"""Every decision is recorded; changes of the log are detected, and it has no secrets."""

import base64
import hashlib
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import requests
from botocore.exceptions import ClientError

from penstock.local.platform import Platform, parts_of
from penstock.testing.clients import boto3_client
from penstock.testing.polling import eventually
from penstock.testing.server import RunningServer, running_server
from tests.security.targets import Keys

SECRET = "the secret of this test"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("audit") / "home") as started:
        yield started


def _records(server: RunningServer) -> list[dict[str, Any]]:
    lines = [line for file in (server.home / "audit").glob("*.jsonl") for line in file.read_bytes().split(b"\n")[:-1]]
    return [json.loads(line) for line in lines]


def _one(server: RunningServer, **expected: Any) -> dict[str, Any]:
    """The record that has the members; the log is written a moment after the answer."""

    results: list[dict[str, Any]] = []

    def find() -> bool:
        results[:] = [
            record for record in _records(server) if all(record.get(name) == value for name, value in expected.items())
        ]
        return bool(results)

    eventually(find, f"a record with {expected}", 15)
    return results[-1]


def _user(server: RunningServer, *statements: dict[str, Any]) -> Keys:
    iam, name = server.client("iam"), f"user-{uuid.uuid4().hex[:8]}"
    iam.create_user(UserName=name)
    document = json.dumps({"Version": "2012-10-17", "Statement": list(statements)})
    iam.put_user_policy(UserName=name, PolicyName="p", PolicyDocument=document)
    key = iam.create_access_key(UserName=name)["AccessKey"]
    return Keys(access_key_id=key["AccessKeyId"], secret_access_key=key["SecretAccessKey"])


ALLOW = {"Effect": "Allow", "Action": "*", "Resource": "*"}


def test_a_change_is_recorded_as_in_cloudtrail(server: RunningServer) -> None:
    answer = server.client("glue").create_registry(RegistryName="changed")
    record = _one(server, requestID=answer["ResponseMetadata"]["RequestId"])
    assert record["eventVersion"] == "1.11"
    assert (record["eventSource"], record["eventName"]) == ("glue.amazonaws.com", "CreateRegistry")
    assert record["userIdentity"]["type"] == "Root"
    assert record["userIdentity"]["accessKeyId"] == server.access_key_id
    assert record["requestParameters"] == {"registryName": "changed"}
    assert record["sourceIPAddress"] == "127.0.0.1"
    assert "Boto3" in record["userAgent"]
    assert record["resources"] == [
        {"ARN": f"arn:aws:glue:{server.region}:{server.account}:registry/changed", "accountId": server.account}
    ]
    assert record["readOnly"] is False
    assert record["additionalEventData"]["decision"] == "allowed"
    assert "errorCode" not in record


def test_a_long_parameter_of_a_large_request_is_cut_once(server: RunningServer) -> None:
    text = json.dumps({"type": "record", "name": "R", "doc": "x" * 20_000, "fields": []})
    answer = server.client("glue").create_schema(SchemaName="long", DataFormat="AVRO", SchemaDefinition=text)
    record = _one(server, requestID=answer["ResponseMetadata"]["RequestId"])
    assert record["requestParameters"]["schemaDefinition"] == f"{text[:1_000]}... ({len(text)} characters)"


def test_a_denial_is_recorded_with_its_reason(server: RunningServer) -> None:
    keys = _user(server, {"Effect": "Allow", "Action": "glue:GetRegistry", "Resource": "*"})
    with pytest.raises(ClientError) as refused:
        server.client("glue", **keys).delete_registry(RegistryId={"RegistryName": "kept"})
    record = _one(server, requestID=refused.value.response["ResponseMetadata"]["RequestId"])
    assert record["additionalEventData"]["decision"] == "denied"
    assert record["errorCode"] == "AccessDeniedException"
    assert "no identity-based policy" in record["errorMessage"]
    assert record["userIdentity"]["type"] == "IAMUser"
    assert [resource["ARN"].rpartition(":")[2] for resource in record["resources"]] == ["registry/kept"]


@pytest.mark.parametrize("service", ["glue", "athena", "secretsmanager", "iam", "sts", "organizations", "cloudtrail"])
def test_each_services_decisions_are_recorded(server: RunningServer, service: str) -> None:
    calls = {
        "glue": "get_databases",
        "athena": "list_work_groups",
        "secretsmanager": "list_secrets",
        "iam": "list_users",
        "sts": "get_caller_identity",
        "organizations": "list_accounts",
        "cloudtrail": "lookup_events",
    }
    allowed = getattr(server.client(service), calls[service])()
    record = _one(server, requestID=allowed["ResponseMetadata"]["RequestId"])
    assert record["eventSource"] == f"{service}.amazonaws.com"
    assert record["additionalEventData"]["decision"] == "allowed"
    with pytest.raises(ClientError) as refused:
        getattr(server.client(service, secret_access_key="guessed"), calls[service])()
    failed = _one(server, requestID=refused.value.response["ResponseMetadata"]["RequestId"])
    assert failed["additionalEventData"]["decision"] == "failed login"
    assert failed["userIdentity"] == {"type": "Unknown", "principalId": "", "accessKeyId": server.access_key_id}
    assert failed["requestParameters"] is None


def test_confluents_decisions_are_recorded(server: RunningServer) -> None:
    auth = (server.access_key_id, server.secret_access_key)
    made = requests.post(f"{server.endpoint_url}/subjects/audited/versions", json={"schema": '"int"'}, auth=auth, timeout=30)
    record = _one(server, requestID=made.headers["x-request-id"])
    assert (record["eventSource"], record["eventName"], record["readOnly"]) == ("confluent.penstock", "register", False)
    keys = _user(server, {"Effect": "Allow", "Action": "glue:ListSchemas", "Resource": "*"})
    refused = requests.get(
        f"{server.endpoint_url}/subjects/audited/versions/1",
        auth=(keys["access_key_id"], keys["secret_access_key"]),
        timeout=30,
    )
    denied = _one(server, requestID=refused.headers["x-request-id"])
    assert denied["additionalEventData"]["decision"] == "denied"
    assert f"arn:aws:glue:{server.region}:{server.account}:schema/default-registry/audited" in [
        resource["ARN"] for resource in denied["resources"]
    ]
    wrong = requests.get(f"{server.endpoint_url}/subjects", auth=(server.access_key_id, "guessed"), timeout=30)
    failed = _one(server, requestID=wrong.headers["x-request-id"])
    assert failed["additionalEventData"]["decision"] == "failed login"
    assert failed["userIdentity"]["accessKeyId"] == server.access_key_id


def test_no_secret_is_in_the_log(server: RunningServer) -> None:
    made = server.client("secretsmanager").create_secret(Name="audited", SecretString=SECRET)
    record = _one(server, requestID=made["ResponseMetadata"]["RequestId"])
    assert record["requestParameters"]["secretString"] == "***OMITTED***"
    connected = server.client("glue").create_connection(
        ConnectionInput={
            "Name": "audited",
            "ConnectionType": "KAFKA",
            "ConnectionProperties": {"KAFKA_BOOTSTRAP_SERVERS": "h:1", "KAFKA_SASL_SCRAM_PASSWORD": SECRET},
        }
    )
    _one(server, requestID=connected["ResponseMetadata"]["RequestId"])
    written = b"".join(file.read_bytes() for file in (server.home / "audit").iterdir())
    basic = base64.b64encode(f"{server.access_key_id}:{server.secret_access_key}".encode())
    for secret in (SECRET.encode(), server.secret_access_key.encode(), basic):
        assert secret not in written


def test_only_the_owner_can_read_the_log(server: RunningServer) -> None:
    server.client("glue").get_databases()
    eventually(lambda: bool(_records(server)), "a record", 15)
    folder = server.home / "audit"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}


def test_it_is_listed_verified_and_exported_once(server: RunningServer, tmp_path: Path) -> None:
    made = server.client("glue").create_registry(RegistryName="exported")
    _one(server, requestID=made["ResponseMetadata"]["RequestId"])
    listed = _penstock(server, "audit", "list", "--event", "CreateRegistry", "--resource", "registry/exported")
    assert "allowed  glue:CreateRegistry" in listed.stdout
    assert _penstock(server, "audit", "verify").returncode == 0
    file = tmp_path / "exported.jsonl"
    _penstock(server, "audit", "export", "--to", str(file))
    first = file.read_text().splitlines()
    assert sum("registry/exported" in line for line in first) == 1
    server.client("glue").delete_registry(RegistryId={"RegistryName": "exported"})
    _one(server, eventName="DeleteRegistry", requestParameters={"registryId": {"RegistryName": "exported"}})
    _penstock(server, "audit", "export", "--to", str(file))
    second = file.read_text().splitlines()
    assert second[: len(first)] == first
    assert len({json.loads(line)["eventID"] for line in second}) == len(second) > len(first)


def test_a_changed_record_is_detected(server: RunningServer, tmp_path: Path) -> None:
    for number in range(3):
        server.client("glue").create_registry(RegistryName=f"chained-{number}")
    _one(server, requestParameters={"registryName": "chained-2"})
    copy = tmp_path / "home"
    (copy / "audit").mkdir(parents=True)
    for file in (server.home / "audit").glob("decisions-*.jsonl"):
        lines = file.read_bytes().split(b"\n")[:-1]
        for before, after in pairwise(lines):
            assert json.loads(after)["additionalEventData"]["previousDigest"] == hashlib.sha256(before).hexdigest()
        (copy / "audit" / file.name).write_bytes(file.read_bytes().replace(b'"chained-1"', b'"chained-9"', 1))
    checked = _penstock(server, "audit", "verify", home=copy)
    assert checked.returncode == 4
    assert "decisions-" in checked.stderr


def test_changes_that_cannot_be_recorded_are_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "audit").write_text("in the way of the folder")
    with running_server(home) as server:
        glue = server.client("glue")
        glue.get_databases()
        eventually(lambda: "cannot be written" in server.log, "the log fails", 15)
        with pytest.raises(ClientError) as refused:
            glue.create_registry(RegistryName="unrecorded")
        assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 503
        assert glue.list_registries()["Registries"] == []
        (home / "audit").unlink()
        eventually(lambda: "written again" in server.log, "the log goes on", 15)
        glue.create_registry(RegistryName="recorded")


def test_it_is_exported_to_a_topic(platform: Platform) -> None:
    from confluent_kafka import Consumer

    config = platform.config
    environment = config.client_environment() | {"PENSTOCK_HOME": str(platform.home.root)}
    glue = boto3_client(
        "glue",
        config.endpoint_url,
        config.region,
        access_key_id=config.access_key_id,
        secret_access_key=config.secret_access_key,
    )
    made = glue.create_registry(RegistryName=f"to-topic-{uuid.uuid4().hex[:8]}")["ResponseMetadata"]["RequestId"]
    topic = f"audit-{uuid.uuid4().hex[:8]}"
    consumer = Consumer(
        {
            "bootstrap.servers": config.brokers,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": config.kafka_username,
            "sasl.password": config.kafka_password,
            "group.id": topic,
            "auto.offset.reset": "earliest",
        }
    )

    def exported() -> bool:
        ran = subprocess.run(
            [sys.executable, "-m", "penstock", "audit", "export", "--to-topic", topic],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return b"to-topic" in b"".join(file.read_bytes() for file in platform.home.audit.glob("*.jsonl"))

    eventually(exported, "the record is written and exported", 60)
    exported()
    seen: list[str] = []

    def found() -> bool:
        messages = consumer.consume(1_000, timeout=1.0)
        seen.extend(json.loads(message.value() or b"")["requestID"] for message in messages if message.error() is None)
        return made in seen

    consumer.subscribe([topic])
    try:
        eventually(found, "the record is in the topic", 60)
    finally:
        consumer.close()


def test_objects_in_the_lake_are_recorded_as_data_events(platform: Platform) -> None:
    config = platform.config

    def client(secret: str) -> Any:
        return boto3_client(
            "s3", config.s3_endpoint_url, config.region, access_key_id=config.access_key_id, secret_access_key=secret
        )

    put = client(config.secret_access_key).put_object(Bucket=config.bucket, Key="audited/1", Body=b"x")
    with pytest.raises(ClientError) as refused:
        client("guessed").get_object(Bucket=config.bucket, Key="audited/1")

    def decisions() -> dict[str, str]:
        lines = [
            json.loads(line) for file in platform.home.audit.glob("*.jsonl") for line in file.read_bytes().split(b"\n")[:-1]
        ]
        return {
            line["requestID"]: f"{line['eventSource']} {line['eventCategory']} {line['additionalEventData']['decision']}"
            for line in lines
        }

    put_id, get_id = (item["ResponseMetadata"]["RequestId"] for item in (put, refused.value.response))
    eventually(lambda: {put_id, get_id} <= decisions().keys(), "both records", 15)
    assert decisions()[put_id] == "s3.amazonaws.com Data allowed"
    assert decisions()[get_id].endswith("failed login")


def test_a_health_check_is_not_a_failed_login(platform: Platform) -> None:
    def logins() -> list[str]:
        lines = [line for file in platform.home.audit.glob("logins-*.jsonl") for line in file.read_bytes().split(b"\n")[:-1]]
        return [json.loads(line)["userAgent"] for line in lines]

    before = len(logins())
    for part in parts_of(platform.home, platform.config):
        assert part.service.is_alive(30)
    # Later events are written later.
    assert requests.get(platform.config.s3_endpoint_url, headers={"User-Agent": "a stranger"}, timeout=30).status_code == 403
    eventually(lambda: "a stranger" in logins()[before:], "the stranger's record", 15)
    assert logins()[before:] == ["a stranger"]


def _penstock(server: RunningServer, *arguments: str, home: Path | None = None) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {"PENSTOCK_HOME": str(home or server.home)}
    return subprocess.run(
        [sys.executable, "-m", "penstock", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_a_statements_denied_reads_are_recorded(server: RunningServer) -> None:
    glue = server.client("glue")
    glue.create_database(DatabaseInput={"Name": "audited"})
    keys = _user(server, {"Effect": "Allow", "Action": ["athena:*", "s3:*"], "Resource": "*"})
    athena = server.client("athena", **keys)
    results = {"OutputLocation": "s3://lake/results/"}
    started = athena.start_query_execution(QueryString="SELECT * FROM audited.hidden", ResultConfiguration=results)
    asked = started["ResponseMetadata"]["RequestId"]
    record = _one(server, requestID=asked, eventSource="glue.amazonaws.com", errorCode="AccessDeniedException")
    assert record["additionalEventData"]["decision"] == "denied"
    assert record["userIdentity"]["type"] == "IAMUser"
    assert "no identity-based policy" in record["errorMessage"]


def test_a_batchs_denied_reads_are_recorded(server: RunningServer) -> None:
    secrets = server.client("secretsmanager")
    shown = secrets.create_secret(Name=f"shown-{uuid.uuid4().hex}", SecretString=SECRET)["ARN"]
    hidden = secrets.create_secret(Name=f"hidden-{uuid.uuid4().hex}", SecretString=SECRET)["ARN"]
    keys = _user(server, ALLOW, {"Effect": "Deny", "Action": "secretsmanager:GetSecretValue", "Resource": hidden})
    answer = server.client("secretsmanager", **keys).batch_get_secret_value(SecretIdList=[shown, hidden])
    assert len(answer["SecretValues"]) == len(answer["Errors"]) == 1
    asked = answer["ResponseMetadata"]["RequestId"]
    denied = _one(server, requestID=asked, eventName="GetSecretValue", errorCode="AccessDeniedException")
    assert denied["additionalEventData"]["decision"] == "denied"
    assert [resource["ARN"] for resource in denied["resources"]] == [hidden]
    allowed = [
        record
        for record in _records(server)
        if record["requestID"] == asked and record["eventName"] == "GetSecretValue" and "errorCode" not in record
    ]
    assert [entry["resources"][0]["ARN"] for entry in allowed] == [shown]


def test_values_are_left_out_by_name_at_any_depth(server: RunningServer) -> None:
    parameters = {"password": SECRET, "fs.s3a.secret.key": SECRET, "kept": "shown"}
    with pytest.raises(ClientError) as refused:
        server.client("glue").create_table(DatabaseName="none", TableInput={"Name": "t", "Parameters": parameters})
    record = _one(server, requestID=refused.value.response["ResponseMetadata"]["RequestId"])
    omitted = "***OMITTED***"
    assert record["requestParameters"]["tableInput"]["Parameters"] == {
        "password": omitted,
        "fs.s3a.secret.key": omitted,
        "kept": "shown",
    }
    started = {"QueryString": "SELECT ?", "ExecutionParameters": [f"'{SECRET}'"]}
    answer = server.client("athena").start_query_execution(
        **started, ResultConfiguration={"OutputLocation": "s3://lake/results/"}
    )
    record = _one(server, requestID=answer["ResponseMetadata"]["RequestId"])
    assert record["requestParameters"]["executionParameters"] == omitted


def test_a_password_in_a_url_is_not_recorded(server: RunningServer) -> None:
    auth = (server.access_key_id, server.secret_access_key)
    url = f"{server.endpoint_url}/subjects?subjectPrefix=in-a-url&password={SECRET}&X-Amz-Security-Token={SECRET}"
    assert requests.get(url, auth=auth, timeout=30).status_code == 200

    def recorded() -> list[str]:
        shown = [(record["requestParameters"] or {}).get("query", "") for record in _records(server)]
        return [item for item in shown if "in-a-url" in item]

    eventually(lambda: bool(recorded()), "a record of the request", 15)
    assert recorded() == ["subjectPrefix=in-a-url&password=***OMITTED***&X-Amz-Security-Token=***OMITTED***"]

"""Kafka mappings on a real broker: scaling, filters, decoded records, a broker that goes away, and what is refused."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from confluent_kafka.serialization import MessageField, SerializationContext

from penstock.local.broker import Broker
from penstock.local.processes.ports import free_ports
from penstock.serdes.kafka.serdes import GlueSerializer
from penstock.testing.polling import eventually
from penstock.testing.server import RunningServer
from tests.integration.functions.runs import FunctionRun, committed, fill, make_topic, read_topic


def _source(access: dict[str, Any], topic: str, **more: Any) -> dict[str, Any]:
    return {**access, "Topics": [topic], **more}


def test_pollers_join_where_the_lag_is_large_and_nothing_is_done_twice(
    broker: Broker, access: dict[str, Any], function: FunctionRun
) -> None:
    make_topic(broker, "fn-scale", 4)
    for partition in range(4):
        fill(broker, "fn-scale", [f"{partition}:{number}" for number in range(60)], partition)
    function.source(
        **_source(access, "fn-scale", BatchSize=5, ProvisionedPollerConfig={"MinimumPollers": 1, "MaximumPollers": 3})
    )
    function.start("--once", SLOW="0.3")
    assert function.wait(120) == 0, function.log.read_text()
    assert "1 pollers become 3" in function.log.read_text()
    assert len({line["pid"] for line in function.lines("begun")}) >= 2
    for partition in range(4):
        assert function.done(f"fn-scale-{partition}") == [f"{partition}:{number}" for number in range(60)]


def test_filters_see_the_decoded_value_and_count_what_they_drop(
    broker: Broker, access: dict[str, Any], function: FunctionRun
) -> None:
    make_topic(broker, "fn-filter")
    fill(broker, "fn-filter", [json.dumps({"level": number % 4, "n": number}) for number in range(20)] + ["level 3"])
    pattern = json.dumps({"value": {"level": [{"numeric": [">=", 3]}]}})
    function.source(**_source(access, "fn-filter", FilterCriteria={"Filters": [{"Pattern": pattern}]}))
    function.start("--once")
    assert function.wait() == 0, function.log.read_text()
    assert [json.loads(value)["n"] for value in function.done()] == [3, 7, 11, 15, 19]
    counts = function.counts()
    assert (counts["PolledEventCount"], counts["FilteredOutEventCount"], counts["DeliveredEventCount"]) == (21, 16, 5)


def test_records_are_decoded_by_their_schema_before_filters_see_them(
    broker: Broker, access: dict[str, Any], function: FunctionRun, penstock_server: RunningServer, monkeypatch: Any
) -> None:
    for name, value in penstock_server.environment().items():
        monkeypatch.setenv(name, value)
    make_topic(broker, "fn-avro")
    glue = penstock_server.client("glue")
    registry = glue.create_registry(RegistryName="fn-avro")["RegistryArn"]
    schema = {"type": "record", "name": "M", "fields": [{"name": "t", "type": "int"}, {"name": "b", "type": "bytes"}]}
    write = GlueSerializer(
        {"registry.name": "fn-avro", "schemaAutoRegistrationEnabled": "true", "compression": "ZLIB"}, schema=schema
    )
    context = SerializationContext("fn-avro", MessageField.VALUE)
    messages = [write({"t": number, "b": b"\xff"}, context) for number in range(10)]
    unknown = bytes([3, 0]) + bytes(16) + b"\x02\x00"
    fill(broker, "fn-avro", [*messages, b"no frame", unknown])  # type: ignore[list-item]
    config = {
        "SchemaRegistryURI": registry,
        "EventRecordFormat": "JSON",
        "SchemaValidationConfigs": [{"Attribute": "VALUE"}],
    }
    function.source(
        **_source(access, "fn-avro", SelfManagedKafkaEventSourceConfig={"SchemaRegistryConfig": config}),
        FilterCriteria={"Filters": [{"Pattern": json.dumps({"value": {"t": [{"numeric": [">", 7]}]}})}]},
        DestinationConfig={"OnFailure": {"Destination": "file://failed"}},
    )
    function.start("--once")
    assert function.wait() == 0, function.log.read_text()
    assert [json.loads(value) for value in function.done()] == [{"t": 8, "b": "/w=="}, {"t": 9, "b": "/w=="}]
    failed = [json.loads(path.read_text()) for path in (function.folder / "failed").rglob("*.json")]
    conditions = {json.loads(item["payload"])["records"]["fn-avro-0"][0]["offset"]: item for item in failed}
    assert conditions[10]["requestContext"]["condition"] == "DESERIALIZATION_ERROR"
    assert conditions[11]["requestContext"]["condition"] == "SCHEMA_NOT_FOUND"
    payload = json.loads(conditions[10]["payload"])["records"]["fn-avro-0"][0]
    assert base64.b64decode(payload["value"]) == b"no frame"


def test_records_wait_for_a_registry_that_does_not_answer(
    broker: Broker, access: dict[str, Any], function: FunctionRun
) -> None:
    make_topic(broker, "fn-waits")
    fill(broker, "fn-waits", [(bytes([3, 0]) + bytes(16) + b"x").decode()])
    config = {
        "SchemaRegistryURI": "arn:aws:glue:us-east-1:000000000000:registry/r",
        "SchemaValidationConfigs": [{"Attribute": "VALUE"}],
    }
    (closed,) = free_ports(1)
    function.environment["AWS_ENDPOINT_URL_GLUE"] = f"http://127.0.0.1:{closed}"
    function.source(
        **_source(
            access,
            "fn-waits",
            SelfManagedKafkaEventSourceConfig={"ConsumerGroupId": "fn-waits", "SchemaRegistryConfig": config},
        )
    )
    function.start()
    eventually(lambda: function.log.read_text().count("wait for it") >= 2, "the registry is asked again")
    assert function.stop() == 0, function.log.read_text()
    assert committed(broker, "fn-waits", "fn-waits", 1) == [0]
    assert function.counts()["PolledEventCount"] == 0


def test_a_broker_that_goes_away_and_comes_back_loses_nothing(
    broker: Broker, access: dict[str, Any], function: FunctionRun
) -> None:
    make_topic(broker, "fn-away", 2)
    fill(broker, "fn-away", [f"{number}" for number in range(20)])
    function.source(**_source(access, "fn-away", SelfManagedKafkaEventSourceConfig={"ConsumerGroupId": "fn-away"}))
    function.start()
    eventually(lambda: len(function.done()) == 20, "what was there is delivered")
    broker.stop()
    broker.start()
    fill(broker, "fn-away", [f"{number}" for number in range(20, 40)])
    eventually(lambda: len(set(function.done())) == 40, f"the rest is delivered: {function.log.read_text()}")
    assert function.stop() == 0, function.log.read_text()
    assert sum(committed(broker, "fn-away", "fn-away", 2)) == 40


def test_at_timestamp_begins_at_the_first_record_of_that_time(
    broker: Broker, access: dict[str, Any], function: FunctionRun
) -> None:
    make_topic(broker, "fn-time")
    fill(broker, "fn-time", ["a", "b", "c"])
    moment = read_topic(broker, "fn-time", 3)[1].timestamp()[1]
    function.source(
        **_source(access, "fn-time", StartingPosition="AT_TIMESTAMP", StartingPositionTimestamp=f"{moment / 1000:.3f}")
    )
    function.start("--once")
    assert function.wait() == 0, function.log.read_text()
    assert function.done()[-2:] == ["b", "c"]


def test_latest_begins_when_the_mapping_does_and_goes_on_from_there(
    broker: Broker, access: dict[str, Any], function: FunctionRun
) -> None:
    make_topic(broker, "fn-latest")
    fill(broker, "fn-latest", [f"old {number}" for number in range(5)])
    config = {"ConsumerGroupId": "fn-latest"}
    function.source(**_source(access, "fn-latest", StartingPosition="LATEST", SelfManagedKafkaEventSourceConfig=config))
    function.start()
    eventually(lambda: committed(broker, "fn-latest", "fn-latest", 1) == [5], "the start is committed")
    assert function.stop() == 0
    fill(broker, "fn-latest", ["new 1", "new 2"])
    function.start("--once")
    assert function.wait() == 0, function.log.read_text()
    assert function.done() == ["new 1", "new 2"]


def _refused(function: FunctionRun) -> tuple[int, str]:
    function.start("--once")
    return function.wait(), function.log.read_text()


def test_a_refused_login_is_reported_at_once(
    broker: Broker, access: dict[str, Any], function: FunctionRun, penstock_server: RunningServer
) -> None:
    client = penstock_server.client("secretsmanager")
    client.create_secret(Name="AmazonMSK_wrong", SecretString=json.dumps({"username": "penstock", "password": "wrong"}))
    wrong = [{"Type": "SASL_SCRAM_512_AUTH", "URI": "AmazonMSK_wrong"}]
    function.source(**_source(access, "fn-refused") | {"SourceAccessConfigurations": wrong})
    status, said = _refused(function)
    assert status == 1, said
    assert f"The broker at {broker.bootstrap} refused the login" in said
    assert "Traceback" not in said


def test_a_topic_that_is_missing_ends_a_run_of_what_is_there(access: dict[str, Any], function: FunctionRun) -> None:
    function.source(**_source(access, "fn-nowhere"))
    status, said = _refused(function)
    assert status == 3, said
    assert "Topic fn-nowhere does not exist" in said


def test_invoke_calls_the_handler_once(tmp_path: Path) -> None:
    (tmp_path / "hello.py").write_text("def handler(event, context):\n    return {'hello': event['name']}\n")
    (tmp_path / "f.yaml").write_text("FunctionName: hello\nHandler: hello.handler\n")
    command = [sys.executable, "-m", "penstock", "functions", "invoke", "f.yaml"]

    def run(*arguments: str, given: str = "") -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*command, *arguments],
            cwd=tmp_path,
            input=given,
            capture_output=True,
            text=True,
            check=False,
            env=dict(os.environ),
        )

    done = run("--event", "-", given='{"name": "you"}')
    assert (done.returncode, json.loads(done.stdout)) == (0, {"hello": "you"})
    assert "REPORT RequestId" in done.stderr
    failed = run("--payload", "{}")
    assert failed.returncode == 4
    assert json.loads(failed.stdout)["errorType"] == "KeyError"
    wrong = run("--payload", "{")
    assert wrong.returncode == 2
    assert "The event is not JSON" in wrong.stderr

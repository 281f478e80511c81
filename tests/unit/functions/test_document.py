"""Documents: their meaning, the service model's limits, and the errors of invalid ones."""

import json
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

import botocore.session
import pytest

from penstock.errors import InvalidInput
from penstock.functions.document import KAFKA_RETRIES, Declaration, parse_function, read_function
from penstock.functions.model import KafkaSource, KinesisSource

KAFKA = """\
FunctionName: consumer
Handler: consumer.handler
Timeout: 30
MemorySize: 256
Environment:
  Variables:
    TABLE: ${TABLE}
EventSourceMappings:
  - SelfManagedEventSource:
      Endpoints:
        KAFKA_BOOTSTRAP_SERVERS: [one:9092, two:9092]
    Topics: [sensor]
    StartingPosition: AT_TIMESTAMP
    StartingPositionTimestamp: 2026-01-31T12:00:00Z
    SourceAccessConfigurations:
      - {Type: SASL_SCRAM_512_AUTH, URI: AmazonMSK_x}
      - {Type: VPC_SUBNET, URI: "subnet:a"}
      - {Type: VPC_SUBNET, URI: "subnet:b"}
    BatchSize: 500
    MaximumBatchingWindowInSeconds: 5
    FunctionResponseTypes: [ReportBatchItemFailures]
    BisectBatchOnFunctionError: true
    MaximumRecordAgeInSeconds: 3600
    ProvisionedPollerConfig: {MinimumPollers: 2, MaximumPollers: 5}
    SelfManagedKafkaEventSourceConfig:
      ConsumerGroupId: mine
      SchemaRegistryConfig:
        SchemaRegistryURI: arn:aws:glue:us-east-1:123456789012:registry/r
        EventRecordFormat: SOURCE
        SchemaValidationConfigs: [{Attribute: KEY}, {Attribute: VALUE}]
    DestinationConfig: {OnFailure: {Destination: "kafka://sensor-failed"}}
"""
KINESIS = {
    "FunctionName": "f",
    "Handler": "m.h",
    "EventSourceMappings": [
        {
            "EventSourceArn": "arn:aws:kinesis:eu-west-1:123456789012:stream/s",
            "StartingPosition": "LATEST",
            "ParallelizationFactor": 10,
        }
    ],
}


def parse(text: str, folder: Path | None = None, **environment: str) -> Declaration:
    return parse_function(text, origin="f.yaml", environment=environment, folder=folder)


def test_a_kafka_mapping_is_read(tmp_path: Path) -> None:
    declared = parse(KAFKA, tmp_path, TABLE="t", AWS_REGION="eu-west-1")
    function, (mapping,) = declared.function, declared.mappings
    assert (function.timeout, function.memory, function.code) == (30, 256, tmp_path)
    assert function.variables == {"TABLE": "t"}
    assert function.arn == "arn:aws:lambda:eu-west-1:000000000000:function:consumer"
    source = mapping.source
    assert isinstance(source, KafkaSource)
    assert (source.topic, source.brokers, source.pollers) == ("sensor", "one:9092,two:9092", (2, 5))
    assert (source.access.login, source.access.mechanism) == ("AmazonMSK_x", "SCRAM-SHA-512")
    assert source.schema_registry is not None
    assert source.schema_registry.is_glue
    assert source.schema_registry.attributes == {"KEY", "VALUE"}
    assert (mapping.group, mapping.batch_size, mapping.window, mapping.report_failures) == ("mine", 500, 5.0, True)
    assert mapping.start_at == 1_769_860_800_000
    # Lambda's own limit with a destination and without a limit.
    assert mapping.policy.retries == KAFKA_RETRIES == 10
    assert (mapping.policy.age, mapping.policy.bisect) == (3600, True)


def test_a_stream_is_retried_without_limit_and_waits_for_nothing() -> None:
    (mapping,) = parse(json.dumps(KINESIS)).mappings
    assert isinstance(mapping.source, KinesisSource)
    assert (mapping.source.parallelization_factor, mapping.window, mapping.policy.retries) == (10, 0.0, -1)


@pytest.mark.parametrize(
    "arn", ["eu-west-1:123456789012:stream/", "eu-west-1:123456789012:stream/a/consumer/b:1", "::stream/s"]
)
def test_a_stream_has_a_name_and_a_region(arn: str) -> None:
    text = json.dumps(KINESIS).replace("eu-west-1:123456789012:stream/s", arn)
    with pytest.raises(InvalidInput, match="is not a stream"):
        parse(text)


def test_a_variable_may_hold_several_brokers() -> None:
    source = parse(KAFKA.replace("one:9092", '"${B}"'), TABLE="t", B="a_1:9092, [::1]:9093").mappings[0].source
    assert isinstance(source, KafkaSource)
    assert source.brokers == "a_1:9092,[::1]:9093,two:9092"


def test_the_id_of_a_mapping_stays_where_brokers_move() -> None:
    first = parse(KAFKA, TABLE="t").mappings[0].uuid
    assert parse(KAFKA.replace("one:9092", "three:9092"), TABLE="t").mappings[0].uuid == first
    assert parse(KAFKA.replace("[sensor]", "[other]"), TABLE="t").mappings[0].uuid != first


REQUEST: Any = botocore.session.get_session().get_service_model("lambda").shape_for("CreateEventSourceMappingRequest")
SHAPES: Mapping[str, Any] = REQUEST.members


@pytest.mark.parametrize(
    ("name", "kafka"),
    [
        ("BatchSize", True),
        ("MaximumBatchingWindowInSeconds", True),
        ("MaximumRetryAttempts", True),
        ("MaximumRecordAgeInSeconds", True),
        ("ParallelizationFactor", False),
    ],
)
def test_bounds_are_those_of_the_service_model(name: str, kafka: bool) -> None:
    bounds = SHAPES[name].metadata

    def given(value: int) -> Declaration:
        if kafka:
            lines = [line for line in KAFKA.splitlines() if name not in line]
            at = lines.index("    Topics: [sensor]")
            return parse("\n".join([*lines[:at], f"    {name}: {value}", *lines[at:]]), TABLE="t")
        mapping = {**KINESIS["EventSourceMappings"][0], name: value}  # type: ignore[dict-item]
        return parse(json.dumps({**KINESIS, "EventSourceMappings": [mapping]}))

    for good in (bounds["min"], bounds["max"]):
        given(good)
    for bad in (bounds["min"] - 1, bounds["max"] + 1):
        with pytest.raises(InvalidInput, match=name):
            given(bad)


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_every_key_of_the_service_model_is_read_or_refused_by_name(name: str) -> None:
    for mapping in (
        KINESIS["EventSourceMappings"][0],
        {"EventSourceArn": "arn:aws:kafka:us-east-1:123456789012:cluster/c/1"},
    ):
        text = json.dumps({**KINESIS, "EventSourceMappings": [{"Topics": ["t1"], **mapping, name: {}}]})  # type: ignore[dict-item]
        said = ""
        try:
            parse(text)
        except InvalidInput as error:
            said = str(error)
        if "KafkaEventSourceConfig" not in name:
            assert "is not known here" not in said


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("FunctionName: consumer", "FunctionName: no spaces", r"f.yaml:1: 'no spaces' is not a function name"),
        ("consumer.handler", "consumer", r"f.yaml:2: 'consumer' is not a handler"),
        ("Timeout: 30", "Timeout: 5000", r"f.yaml:3: 'Timeout' is '5000', not a whole number from 1 to 900"),
        ("MemorySize", "MemorySise", r"f.yaml:4: 'MemorySise' is not known here. Did you mean 'MemorySize'"),
        ("${TABLE}", "${TABEL}", r"f.yaml:7: .* uses \${TABEL}, which is not set"),
        ("[sensor]", "[a, b]", r"f.yaml:12: 'Topics' must name one topic"),
        ("[sensor]", "[no spaces]", r"f.yaml:12: 'no spaces' is not a topic name"),
        ("AT_TIMESTAMP", "TRIM_HORIZON", r"f.yaml:13: AT_TIMESTAMP and StartingPositionTimestamp go together"),
        ("2026-01-31T12:00:00Z", "yesterday", r"f.yaml:14: 'yesterday' is not a point in time"),
        ("2026-01-31T12:00:00Z", "inf", r"f.yaml:14: 'inf' is not a point in time"),
        ("2026-01-31T12:00:00Z", "1e17", r"f.yaml:14: '1e17' is not a point in time"),
        ("2026-01-31T12:00:00Z", "0001-01-01", r"f.yaml:14: '0001-01-01' is not a point in time"),
        ("two:9092", "two", r"f.yaml:11: 'two' is not a broker's address. It has the form HOST:PORT"),
        ("one:9092", '"a:1,b c:2"', r"f.yaml:11: 'b c:2' is not a broker's address"),
        ("BatchSize: 500", "UUID: ../../outside", r"f.yaml:19: '../../outside' is not an id"),
        ("    TABLE: ", "    A=B: ", r"f.yaml:6: 'A=B' is not a valid environment variable"),
        ("${TABLE}", '"\\0"', r"f.yaml:6: 'TABLE' is not a valid environment variable"),
        ("FunctionName: consumer", "FunctionName: " + "[" * 5000, r"f.yaml: this is not YAML: .*recursion"),
    ],
)
def test_an_error_has_line_and_remedy(old: str, new: str, words: str) -> None:
    assert old in KAFKA
    with pytest.raises(InvalidInput, match=words):
        parse(KAFKA.replace(old, new, 1), TABLE="t")


def test_two_mappings_of_one_source_need_ids() -> None:
    both = {**KINESIS, "EventSourceMappings": KINESIS["EventSourceMappings"] * 2}  # type: ignore[operator]
    with pytest.raises(InvalidInput, match="same source and id"):
        parse(json.dumps(both))


@pytest.mark.parametrize(
    ("handler", "words"),
    [
        ("absent.handler", r"f.yaml:2: module 'absent' of handler absent.handler is not in .*\. Correct Handler or CodeUri"),
        ("inner.absent.handler", r"module 'inner.absent' of handler"),
        ("app.inner.handler", r"module 'app.inner' of handler"),
        ("broken.handler", r"f.yaml:2: module 'broken' is not Python: .*broken.py:2: '\(' was never closed"),
        ("binary.handler", r"module 'binary' (is not Python|cannot be read): .*binary.py"),
        ("app.handler", None),
        ("inner/app.handler", None),
        ("inner.app.handler", None),
        ("inner.handler", None),
    ],
)
def test_the_handlers_module_is_looked_for_and_not_run(tmp_path: Path, handler: str, words: str | None) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "__init__.py").write_text("raise SystemExit\n")
    for name in ("app.py", "inner/app.py"):
        (tmp_path / name).write_text("raise SystemExit\n")
    (tmp_path / "broken.py").write_text("\nx = (\n")
    (tmp_path / "binary.py").write_bytes(b"\0\xff")
    (tmp_path / "f.yaml").write_text(f"FunctionName: f\nHandler: {handler}\n")
    if words is None:
        assert read_function(tmp_path / "f.yaml", {}).function.handler == handler
    else:
        with pytest.raises(InvalidInput, match=words):
            read_function(tmp_path / "f.yaml", {})


def test_a_handler_in_a_package_that_is_installed_to_be_edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "elsewhere" / "edited"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "app.py").touch()

    class Hook:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
            return PathFinder.find_spec(name, [str(tmp_path / "elsewhere")]) if name == "edited" else None

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Hook])
    for handler, found in (("edited.app.handler", True), ("edited.other.handler", False), ("time.sleep", False)):
        (tmp_path / "f.yaml").write_text(f"FunctionName: f\nHandler: {handler}\n")
        with nullcontext() if found else pytest.raises(InvalidInput, match="is not in"):
            read_function(tmp_path / "f.yaml", {})

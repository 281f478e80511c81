"""Pipelines from YAML: declared values, defaults, Glue's names, and errors with file and line."""

from pathlib import Path

import pytest

from penstock.errors import InvalidInput
from penstock.pipelines import KafkaSource, Pipeline, parse_pipeline, read_pipeline

MINIMAL = """\
name: flights
source:
  kafka:
    brokers: b:9092
    topic: flights
    security_protocol: PLAINTEXT
decode: {registry: r, schema: s}
sink:
  parquet:
    location: s3://lake/flights
dead_letters: {location: s3://lake/dead}
checkpoint: s3://lake/checkpoint
"""


def parse(text: str, **environment: str) -> Pipeline:
    return parse_pipeline(text, origin="p.yaml", environment=environment)


def test_defaults() -> None:
    pipeline = parse(MINIMAL)
    assert isinstance(pipeline.source, KafkaSource)
    assert pipeline.source.fail_on_data_loss is True
    assert pipeline.source.starting_offsets == "earliest"
    assert pipeline.batch_max_retries == 3
    assert pipeline.decode.reader is None
    assert pipeline.trigger.kind == "processing"
    assert pipeline.drift.on_missing_field == "fail"


def test_glues_option_names_are_taken_as_they_are() -> None:
    text = MINIMAL.replace("checkpoint:", "checkpointLocation:").replace("brokers:", "bootstrap.servers:")
    text = text.replace("topic:", "maxOffsetsPerTrigger: 10\n    failOnDataLoss: false\n    topicName:")
    pipeline = parse(text + "windowSize: 30 seconds\nbatchMaxRetries: 0\n")
    assert pipeline.trigger.interval == "30 seconds"
    assert pipeline.batch_max_retries == 0
    assert isinstance(pipeline.source, KafkaSource)
    assert (pipeline.source.max_offsets_per_trigger, pipeline.source.fail_on_data_loss) == (10, False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("topic:", "topik:"), r"p\.yaml:5: 'source\.kafka\.topi[ck]'"),
        (("name: flights", "name: 'a b'"), r"not a usable pipeline name"),
        (("PLAINTEXT", "SASL_SSL"), r"p\.yaml:4: Topic flights: SASL_SSL needs credentials"),
        (("PLAINTEXT", "TLS"), r"p\.yaml:6: .*it can be PLAINTEXT, SSL"),
        (("schema: s}", "schema: s, reader: x}"), r"p\.yaml:7: 'reader'|p\.yaml:7: 'decode\.reader' is 'x'"),
        (("s3://lake/flights", "gs://lake/flights"), r"p\.yaml:10: .*unsupported scheme"),
        (("s3://lake/dead", "s3://lake/flights/dead"), r"is inside that of sink"),
        (("name: flights", "name: flights\nname: again"), r"p\.yaml:2: 'name' is given twice"),
        (("name: flights", "name: [flights"), r"p\.yaml:\d+: this is not YAML"),
        (("name: flights", "name: ${NOT_SET}"), r"p\.yaml:1: 'name' uses \$\{NOT_SET\}, which is not set"),
        (("location: s3://lake/flights", "location: s3://lake/flights\n    partitionby: [a]"), "Did you mean 'partition"),
        (("    topic: flights", "    topic: flights\n    options: {foo: 1}"), r"option 'foo' is not one of Kafka's"),
        (("checkpoint:", "batchMaxRetries: -1\ncheckpoint:"), r"p\.yaml:12: 'batchMaxRetries' is '-1'"),
        (("checkpoint:", "drift: {threshold: 2}\ncheckpoint:"), r"not a number from 0 to 1"),
        (
            ("checkpoint:", "trigger: {once: true, processingTime: 1s}\ncheckpoint:"),
            r"either processingTime or availableNow",
        ),
    ],
)
def test_errors_name_file_line_and_what_to_do(change: tuple[str, str], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse(MINIMAL.replace(*change))


def test_only_variables_of_the_file_are_replaced() -> None:
    text = MINIMAL.replace("b:9092", "${BROKERS}").replace("topic: flights", "topic: $HOME")
    pipeline = parse(text, BROKERS="x:1", HOME="/root")
    assert (pipeline.source.brokers, pipeline.source.topic) == ("x:1", "$HOME")


def test_a_variables_value_is_not_yaml() -> None:
    assert parse(MINIMAL.replace("b:9092", "${BROKERS}"), BROKERS="a: [b").source.brokers == "a: [b"


def test_passwords_are_not_shown() -> None:
    text = MINIMAL.replace("PLAINTEXT", "SASL_SSL\n    username: u\n    password: hush-hush")
    assert "hush-hush" not in repr(parse(text))


def test_relative_locations_are_taken_from_the_files_folder(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(MINIMAL.replace("s3://lake/checkpoint", "state/checkpoint"))
    assert read_pipeline(path, {}).checkpoint == str(tmp_path / "state/checkpoint")


def test_a_file_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"no\.yaml cannot be read: No such file"):
        read_pipeline(tmp_path / "no.yaml", {})


def test_the_example_is_valid() -> None:
    path = Path(__file__).parents[3] / "examples" / "flights.yaml"
    environment = {"PENSTOCK_BROKERS": "b:1", "PENSTOCK_SECRET_ID": "AmazonMSK_x", "PENSTOCK_BUCKET": "lake"}
    pipeline = read_pipeline(path, environment)
    (sink,) = pipeline.file_sinks
    assert sink.partition_by == ("flight_date",)
    assert sink.catalog is not None

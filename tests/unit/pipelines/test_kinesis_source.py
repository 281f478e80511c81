"""The kinesis section of a source under Penstock's and Glue's names, and what is refused."""

import json

import pytest

from penstock.errors import InvalidInput
from penstock.pipelines.sources.kinesis import KinesisSource, kinesis_source
from penstock.settings.document import load_document


def source(text: str) -> KinesisSource:
    section = load_document(text, origin="p.yaml", environment={})
    result = kinesis_source(section)
    section.done()
    return result


def test_glues_names_are_the_same_settings() -> None:
    arn = "arn:aws:kinesis:eu-west-1:111122223333:stream/clicks"
    result = source(
        f"streamARN: {arn}\nfanoutConsumerName: c\nmaxFetchRecordsPerShard: 7\nawsSTSRoleARN: r\nfailOnDataLoss: false"
    )
    ours = source(f"stream: {arn}\nconsumer: c\nmax_records_per_shard: 7\nrole: r\nfail_on_data_loss: false")
    assert result == ours
    assert (result.topic, result.description, result.starting_position) == ("clicks", "stream clicks", "trim_horizon")


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("LATEST", "latest"),
        ("2024-05-01T08:00:00Z", "2024-05-01T08:00:00+00:00"),
        ("'2024-05-01T08:00:00+02:00'", "2024-05-01T08:00:00+02:00"),
        ("{shardId-000000000000: {after: '7'}}", json.dumps({"shardId-000000000000": {"after": "7"}})),
    ],
)
def test_a_stream_starts_at_a_place_a_time_or_positions(text: str, start: str) -> None:
    assert source(f"stream: s\nstartingPosition: {text}").starting_position == start


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("region: r", "'stream' is missing"),
        ("stream: s\nstartingPosition: first", "p.yaml:2: 'startingPosition' is 'first'"),
        ("stream: s\nsts_endpoint: https://sts", "go with 'role'"),
        ("stream: s\nmax_fetch_ms: 0", "max_fetch_ms"),
    ],
)
def test_mistakes_are_named(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        source(text)

"""``penstock functions``: what it prints of events and answers that are hard to show, and of several mappings."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from penstock.cli.streams import functions
from penstock.errors import InvalidInput
from penstock.functions import runner
from penstock.functions.mapping_metrics import MappingMetrics
from penstock.functions.model import EventSourceMapping, Function

CODE = """\
def halves(event, context):
    return "\\ud800"

def echo(event, context):
    return event
"""
SOURCE = {"SelfManagedEventSource": {"Endpoints": {"KAFKA_BOOTSTRAP_SERVERS": ["b:9092"]}}, "Topics": ["readings"]}


@pytest.fixture
def document(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(CODE)
    return tmp_path / "function.json"


def invoke(document: Path, handler: str, *arguments: str) -> Result:
    document.write_text(json.dumps({"FunctionName": "f", "Handler": f"app.{handler}"}))
    return CliRunner().invoke(functions.command, ["invoke", str(document), "--log", f"{document}.log", *arguments])


def test_an_answer_outside_utf8_is_escaped(document: Path) -> None:
    done = invoke(document, "halves")
    assert (done.exit_code, done.stdout) == (0, '"\\ud800"\n')


@pytest.mark.parametrize(
    ("event", "words"),
    [
        ("[" * 100_000, "The event is not JSON: "),
        (json.dumps("x" * 6_291_456), "has 6,291,458 bytes; Lambda accepts 6,291,456"),
    ],
)
def test_an_event_that_lambda_would_not_take(document: Path, event: str, words: str) -> None:
    (document.parent / "event.json").write_text(event)
    done = invoke(document, "echo", "--event", str(document.parent / "event.json"))
    assert isinstance(done.exception, InvalidInput)
    assert words in str(done.exception)


def test_two_mappings_of_one_topic_are_reported_separately(document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Reads:
        def __init__(self, metrics: MappingMetrics, count: int) -> None:
            self._metrics, self._count = metrics, count

        def run(self) -> None:
            self._metrics.add(PolledEventCount=self._count)

        def stop(self) -> None: ...

    def prepare(_function: Function, mapping: EventSourceMapping, metrics: MappingMetrics, _options: Any) -> Reads:
        return Reads(metrics, mapping.batch_size)

    monkeypatch.setattr(runner, "_prepare", prepare)
    mappings = [
        {
            **SOURCE,
            "StartingPosition": "LATEST",
            "BatchSize": count,
            "SelfManagedKafkaEventSourceConfig": {"ConsumerGroupId": g},
        }
        for g, count in (("one", 3), ("two", 5))
    ]
    document.write_text(json.dumps({"FunctionName": "f", "Handler": "app.echo", "EventSourceMappings": mappings}))
    done = CliRunner().invoke(functions.command, ["run", str(document)], catch_exceptions=False)
    assert [line[:23] for line in done.stdout.splitlines()[1:]] == ["topic readings: 3 read,", "topic readings: 5 read,"]

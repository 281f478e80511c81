"""Every setting of a pipeline is documented, and the page's example is a valid pipeline."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest

from penstock import pipelines
from penstock.pipelines import (
    CatalogTarget,
    ConfluentRegistry,
    DeadLetters,
    Decode,
    Drift,
    Expectation,
    Key,
    Mask,
    SinkSettings,
    Transform,
    parse_pipeline,
)
from penstock.pipelines.sinks.kinds import Sink
from penstock.pipelines.sources.kinds import Source
from penstock.pipelines.transforms import Step

FOLDER = Path(__file__).parents[3] / "docs" / "pipelines"
PAGE = (FOLDER / "pipelines.md").read_text()
TRANSFORMS = (FOLDER / "transforms.md").read_text()

# Settings whose name in the file is Spark's or Glue's.
WRITTEN = {
    "topics": "topic",
    "function": "python",
    "source": "from",
    "starting_offsets": "startingOffsets",
    "starting_timestamp": "startingTimestamp",
    "starting_offsets_by_timestamp": "startingOffsetsByTimestamp",
    "max_offsets_per_trigger": "maxOffsetsPerTrigger",
    "max_bytes_per_trigger": "maxBytesPerTrigger",
    "min_partitions": "minPartitions",
    "fail_on_data_loss": "failOnDataLoss",
}


ENVIRONMENT = {"PENSTOCK_BROKERS": "127.0.0.1:9092", "PENSTOCK_SECRET_ID": "AmazonMSK_penstock", "PENSTOCK_BUCKET": "lake"}

# One class, or a union of several.
SINKS: tuple[type[SinkSettings], ...] = get_args(Sink) or (Sink,)
SOURCES: tuple[Any, ...] = get_args(Source) or (Source,)


def test_every_source_and_sink_is_public() -> None:
    assert [kind.__name__ for kind in [*SOURCES, *SINKS] if not hasattr(pipelines, kind.__name__)] == []


@pytest.mark.parametrize(
    "section",
    [
        *SOURCES,
        Decode,
        ConfluentRegistry,
        Key,
        Transform,
        *get_args(Step),
        Mask,
        Expectation,
        *SINKS,
        DeadLetters,
        CatalogTarget,
        Drift,
    ],
)
def test_every_setting_is_on_the_page(section: type) -> None:
    # A step's name is its key, and its folder that of the file.
    hidden = {"name", "folder"} if section in {*get_args(Step), Expectation} else set()
    names = [WRITTEN.get(field.name, field.name) for field in fields(section) if field.name not in hidden]
    assert [name for name in names if not re.search(rf"`[\w.]*\b{name}\b[^`]*`", _page(section))] == []


def _page(section: Any) -> str:
    """The page of pipelines, and for a source or sink its own."""
    if section in SOURCES:
        return (FOLDER / f"source-{section.kind}.md").read_text()
    if section.__module__ == Transform.__module__:
        return TRANSFORMS
    if not issubclass(section, SinkSettings):
        return PAGE
    return PAGE + (FOLDER / f"sink-{section.kind}.md").read_text()


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_has_a_page_with_its_guarantee_and_an_example(kind: Any) -> None:
    text = (FOLDER / f"source-{kind.kind}.md").read_text()
    assert "## Guarantee" in text
    examples = re.findall(r"```yaml\n(source:\n.*?)```", text, re.DOTALL)
    assert examples
    rest = PAGE[PAGE.index("decode: {") : PAGE.index("```", PAGE.index("decode: {"))]
    for example in examples:
        pipeline = parse_pipeline(f"name: example\n{example}{rest}", environment=ENVIRONMENT)
        assert isinstance(pipeline.source, kind)


@pytest.mark.parametrize("kind", SINKS)
def test_every_sink_has_a_page_with_its_guarantee(kind: type[SinkSettings]) -> None:
    text = (FOLDER / f"sink-{kind.kind}.md").read_text()
    assert "## Guarantee" in text
    assert kind.guarantee.capitalize() in text
    examples = re.findall(r"```yaml\n(sink:\n.*?)```", text, re.DOTALL)
    assert examples
    first = PAGE[PAGE.index("name: orders") : PAGE.index("sink:\n")]
    rest = PAGE[PAGE.index("dead_letters: {") : PAGE.index("```", PAGE.index("dead_letters: {"))]
    for example in examples:
        (sink,) = parse_pipeline(f"{first}{example}{rest}", environment=ENVIRONMENT).sinks
        assert isinstance(sink, kind)


def test_the_examples_of_transforms_parse() -> None:
    examples = re.findall(r"```yaml\n(transform:\n.*?)```", TRANSFORMS, re.DOTALL)
    page = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert page is not None
    for example in examples:
        pipeline = parse_pipeline(f"{page.group(1)}{example}", environment={**ENVIRONMENT, "MASK_KEY": "k"})
        assert pipeline.transform.steps
    assert len(examples) == 2


def test_the_example_parses() -> None:
    example = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert example is not None
    pipeline = parse_pipeline(example.group(1), environment=ENVIRONMENT)
    assert pipeline.name == "orders"

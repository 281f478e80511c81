"""Evolution and file sizes in a sink's section, and mistakes in them."""

import pytest

from penstock.errors import InvalidInput
from penstock.pipelines import Evolution, ParquetSink, parse_pipeline

TEXT = """\
name: p
source: {{kafka: {{brokers: "b:1", topic: t, security_protocol: PLAINTEXT}}}}
decode: {{registry: r, schema: s}}
sink:
  parquet:
    location: /lake/t
    {line}
dead_letters: {{location: /lake/d}}
checkpoint: /lake/c
"""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("compression: zstd", Evolution()),
        ("evolution: freeze", Evolution(add="freeze", widen="freeze", rename="freeze")),
        ("evolution: evolve", Evolution()),
        ("evolution: {widen: freeze}", Evolution(widen="freeze")),
        ("evolution: {add: freeze, rename: Evolve}", Evolution(add="freeze")),
    ],
)
def test_words(line: str, expected: Evolution) -> None:
    assert parse_pipeline(TEXT.format(line=line), environment={}).sinks[0].evolution == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("evolution: ignore", r"p\.yaml:7: '.*evolution' is 'ignore'; it can be evolve, freeze"),
        ("evolution: {add: maybe}", r"p\.yaml:7: '.*evolution\.add' is 'maybe'"),
        ("evolution: {added: evolve}", r"p\.yaml:7: '.*evolution\.added' is not known here"),
        ("target_file_size: big", r"p\.yaml:7: 'big' is not a size"),
        ("evolution: [add]", r"p\.yaml:7: '.*evolution' must be a mapping"),
    ],
)
def test_mistakes(line: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse_pipeline(TEXT.format(line=line), origin="p.yaml", environment={})


def test_the_target_size_of_files() -> None:
    sink = parse_pipeline(TEXT.format(line="target_file_size: 64MB"), environment={}).sinks[0]
    assert isinstance(sink, ParquetSink)
    assert sink.target_file_size == 64 * 2**20

"""Every hostile definition is read or refused, and held against the others, within a bounded amount of work."""

import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from random import Random

import pytest

from penstock.schema.errors import InvalidSchema, NoColumns, TooComplex
from penstock.schema.format import MAX_DEFINITION_CHARS, ParsedSchema, ReferencedText
from penstock.schema.formats import format_of
from penstock.schema.rules import CONFLUENT_RULES, GLUE_RULES
from tests.unit.schema.hostile.hostile_definitions import HOSTILE, hostile

# Of this process's own work, which others do not lengthen; the slowest takes one, and what was quadratic once took 14 to 49.
MAX_CPU_SECONDS = 8.0


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    """Fail on work out of all proportion."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    yield
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert after.ru_utime - before.ru_utime < MAX_CPU_SECONDS
    assert after.ru_maxrss - before.ru_maxrss < 300_000  # kibibytes


def read(data_format: str, text: str) -> ParsedSchema | None:
    """The schema, or None where it is refused in words that can be sent."""
    assert len(text) <= MAX_DEFINITION_CHARS
    try:
        return format_of(data_format).parse(text)
    except InvalidSchema as error:
        message = str(error)
        message.encode()
        assert 0 < len(message) < 3_000
        return None


@pytest.mark.parametrize(("data_format", "name"), hostile())
def test_each_is_read_or_refused(data_format: str, name: str) -> None:
    schema = read(data_format, HOSTILE[data_format][name]())
    if schema is None:
        return
    rules = format_of(data_format)
    rules.fields(schema)
    rules.pretty(schema).encode()
    with suppress(NoColumns):
        rules.columns(schema)
    # Of the small ones, since what the canonical form spells out may be more than a request carries.
    if len(schema.canonical) <= 60_000:
        assert rules.parse(schema.canonical).fingerprint == schema.fingerprint
    with suppress(TooComplex):
        assert rules.readable(schema, schema, CONFLUENT_RULES) == []


@pytest.mark.parametrize("levels", [60])
def test_references_that_double_at_each_level(levels: int) -> None:
    """In the other formats this is bounded by the depth of types, and by compiling each file once."""
    texts = [
        ReferencedText(
            name=f"r{n}.json", text=f'{{"items":[{{"$ref":"r{max(0, n - 1)}.json"}},{{"$ref":"r{max(0, n - 2)}.json"}}]}}'
        )
        for n in range(levels)
    ]
    schema = format_of("JSON").parse(f'{{"$ref":"r{levels - 1}.json"}}', texts)
    assert format_of("JSON").readable(schema, schema, CONFLUENT_RULES) == []


# Pairs whose comparison was quadratic once: 14 s and more.
SLOW_ONCE = [
    ("PROTOBUF", "many-comments", "many-one-ofs"),
    ("PROTOBUF", "many-fields", "many-reserved"),
    ("PROTOBUF", "many-values", "many-reserved"),
    ("AVRO", "many-symbols", "other-many-symbols"),
    ("JSON", "many-required", "one-of-objects"),
    ("JSON", "many-dependencies", "one-of-objects"),
    # All alternatives were listed for each of 1,800 schemas; lists of 20,000 values were sorted for each question.
    ("JSON", "all-of-objects", "other-wide-one-of"),
    ("JSON", "many-values", "one-of-mesh"),
]


@pytest.mark.parametrize(("data_format", "reader", "writer"), SLOW_ONCE)
def test_what_was_slow_once(data_format: str, reader: str, writer: str) -> None:
    texts = (HOSTILE[data_format][name]() for name in (reader, writer))
    one, other = (read(data_format, text) for text in texts)
    assert one is not None
    assert other is not None
    with suppress(TooComplex):
        format_of(data_format).readable(one, other, GLUE_RULES)


@pytest.mark.parametrize("data_format", HOSTILE)
def test_pairs(data_format: str) -> None:
    """A few pairs a run, others each day by PENSTOCK_SEED; a comparison ends in findings or gives up in words."""
    random = Random(int(os.environ.get("PENSTOCK_SEED", "7")))
    names = random.sample(sorted(HOSTILE[data_format]), 8)
    schemas = [schema for name in names if (schema := read(data_format, HOSTILE[data_format][name]()))]
    for reader, writer in zip(schemas, schemas[1:] + schemas[:1], strict=True):
        with suppress(TooComplex):
            for found in format_of(data_format).readable(reader, writer, CONFLUENT_RULES):
                str(found).encode()


@pytest.mark.parametrize("data_format", ["AVRO", "JSON"])
@pytest.mark.parametrize(
    "text",
    [
        r'{"type":"record","name":"a\ud800","fields":[]}',
        r'{"type":"string","\udc00\ud800":1}',
        r'{"\ud800":1,"\ud800":2}',
        '{"type":"string","doc":"\ud800"}',
        '{"\ud800":1,"\ud800":2}',
    ],
)
def test_lone_surrogates_are_refused_in_words_that_can_be_sent(data_format: str, text: str) -> None:
    with pytest.raises(InvalidSchema, match="lone surrogate") as refused:
        format_of(data_format).parse(text)
    str(refused.value).encode()


def test_surrogates_in_pairs_are_text() -> None:
    assert read("AVRO", r'{"type":"string","doc":"\ud83d\ude00 \\ud800"}') is not None

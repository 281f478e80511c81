"""All kinds of sources, by the name of their section."""

from collections.abc import Callable, Mapping

from penstock.pipelines.sources.kafka import KafkaSource, kafka_source
from penstock.pipelines.sources.kinesis import KinesisSource, kinesis_source
from penstock.settings.document import Section

__all__ = ["Source", "parse_source"]

Source = KafkaSource | KinesisSource
"""Any kind of source. All have ``description`` and ``fail_on_data_loss``."""

_PARSERS: Mapping[str, Callable[[Section], Source]] = {"kafka": kafka_source, "kinesis": kinesis_source}


def parse_source(section: Section) -> Source:
    """Return the source that a ``source`` section declares."""
    kind = next((each for each in _PARSERS if section.has(each)), next(iter(_PARSERS)))
    settings = section.required_section(kind)
    section.done()
    source = _PARSERS[kind](settings)
    settings.done()
    return source

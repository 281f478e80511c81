"""All kinds of sources, by the name of their section."""

from collections.abc import Callable, Mapping
from pathlib import Path

from penstock.pipelines.sources.files import FileSource, files_source
from penstock.pipelines.sources.kafka import KafkaSource, kafka_source
from penstock.pipelines.sources.kinesis import KinesisSource, kinesis_source
from penstock.settings.document import Section

__all__ = ["Source", "parse_source"]

Source = KafkaSource | KinesisSource | FileSource
"""Any kind of source. All have ``description`` and ``fail_on_data_loss``."""

_PARSERS: Mapping[str, Callable[[Section, Path], Source]] = {
    "kafka": lambda section, _: kafka_source(section),
    "kinesis": lambda section, _: kinesis_source(section),
    "files": files_source,
}


def parse_source(section: Section, base: Path) -> Source:
    """Return the source that a ``source`` section declares; relative locations are below ``base``."""
    section_name = next((parser for parser in _PARSERS if section.has(parser)), next(iter(_PARSERS)))
    settings = section.required_section(section_name)
    section.done()
    source = _PARSERS[section_name](settings, base)
    settings.done()
    return source

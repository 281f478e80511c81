"""Recognise one file: by its first bytes if it is a container, else as JSON or delimited text."""

from collections.abc import Callable, Sequence
from pathlib import Path

from penstock.crawl.formats.containers import container
from penstock.crawl.formats.delimited import delimited
from penstock.crawl.formats.json_records import json_records
from penstock.crawl.formats.sample import Recognized, Sample, read_sample
from penstock.errors import DataProblem

__all__ = ["recognize"]


def recognize(path: Path, size: int, custom: Sequence[Callable[[Sample, str], Recognized | None]] = ()) -> Recognized:
    """Return what the file at ``path`` is, of which ``size`` is the size in bytes; ``custom`` are tried on text first.

    Raises :class:`DataProblem` for a file that is damaged, incomplete or of no known format, and OSError.
    """
    with path.open("rb") as file:
        start = file.read(8)
    if recognized := container(path, start):
        return recognized
    if not size:
        raise DataProblem("it is empty")
    sample = read_sample(path, size)
    text = sample.text()
    for recognizer in custom:
        if by_classifier := recognizer(sample, text):
            return by_classifier
    recognized = json_records(sample, text) or delimited(sample, text)
    if recognized is None:
        raise DataProblem("it is of no known format: Parquet, ORC, Avro, JSON, or text with delimiters and two records")
    return recognized

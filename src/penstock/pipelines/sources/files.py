"""Files that arrive in a folder as a source: records to be read again, or an export."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from penstock.errors import InvalidInput
from penstock.pipelines.sections import location
from penstock.settings.document import Section

__all__ = ["FileSource", "RecordFormat", "files_source"]

RecordFormat = Literal["parquet", "avro", "json", "binary"]

_FORMATS: tuple[RecordFormat, ...] = ("parquet", "avro", "json", "binary")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSource:
    """Files in a folder and those below it, each read once; those that come later, too.

    In ``parquet`` and ``avro`` files a row is a record: ``value`` and ``key`` name its columns, and ``topic``,
    ``partition``, ``offset``, ``timestamp`` (or ``kafka_timestamp``) and ``headers`` are taken where they are. In ``json``
    files a line is a record's value. A ``binary`` file is one record's value. ``glob`` selects files by their names.
    """

    kind: ClassVar[str] = "files"

    location: str
    format: RecordFormat = "parquet"
    value: str = "value"
    key: str = "key"
    glob: str | None = None
    max_files_per_trigger: int | None = None
    max_bytes_per_trigger: int | None = None
    fail_on_data_loss: bool = True

    def __post_init__(self) -> None:
        if self.max_files_per_trigger and self.max_bytes_per_trigger:
            raise InvalidInput(
                f"Files in {self.location}: maxFilesPerTrigger and maxBytesPerTrigger exclude each other.",
                remedy="Keep one of them.",
            )
        if self.format in {"json", "binary"} and (self.value, self.key) != ("value", "key"):
            raise InvalidInput(f"Files in {self.location}: {self.format} files have no columns to name as value and key.")

    @property
    def topic(self) -> str:
        """Return the folder, for messages."""
        return self.location

    @property
    def brokers(self) -> str:
        """Return where the files are, for messages."""
        return "the file system"

    @property
    def description(self) -> str:
        """Return the source in a few words, for messages."""
        return f"{self.format} files in {self.location}"


def files_source(section: Section, base: Path) -> FileSource:
    """Return the source that a ``files`` section declares. Raises :class:`InvalidInput` with its line."""
    loss = section.boolean("failOnDataLoss", "fail_on_data_loss")
    settings = {
        "location": location(section, base, "location", "path"),
        "format": section.choice(_FORMATS, "format") or "parquet",
        "value": section.text("value") or "value",
        "key": section.text("key") or "key",
        "glob": section.text("glob", "pathGlobFilter"),
        "max_files_per_trigger": section.integer("maxFilesPerTrigger", "max_files_per_trigger", minimum=1),
        "max_bytes_per_trigger": section.integer("maxBytesPerTrigger", "max_bytes_per_trigger", minimum=1, maximum=2**53),
        "fail_on_data_loss": loss is not False,
    }
    try:
        return FileSource(**settings)  # type: ignore[arg-type]
    except InvalidInput as error:
        raise section.fault(error.message.rstrip("."), remedy=error.remedy) from None

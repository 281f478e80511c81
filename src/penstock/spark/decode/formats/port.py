"""The port of payload formats: what a format gives, so that one plan decodes frames of every format.

A decoded payload is a struct of ``body``, the row, and ``tail``, a double: :data:`GOOD` if the payload was exactly one value
of its schema, null if it cannot be read, any other number if bytes follow its value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import Column

from penstock.pipelines.decode import ExtraFields
from penstock.schema.version import SchemaVersion
from penstock.spark.decode.readers import MARK_VALUE

__all__ = [
    "GOOD",
    "INDEX_AWS",
    "INDEX_CONFLUENT",
    "INDEX_NONE",
    "FormatSettings",
    "PayloadFormat",
    "Payloads",
]

GOOD = MARK_VALUE
"""The ``tail`` of a payload that was read completely."""

INDEX_AWS, INDEX_CONFLUENT, INDEX_NONE = 0, 1, 2
"""The form of the message index in front of a Protobuf payload; a record without a frame has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatSettings:
    """What a pipeline declares of its payloads.

    ``extra_fields``: properties of JSON documents that the schema does not list are dropped or make the document unreadable,
    or, by default, are refused where the schema's ``additionalProperties`` is false. ``message`` is the full name of the
    Protobuf message that the rows are of, by default the definition's first.
    """

    extra_fields: ExtraFields = "schema"
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Payloads:
    """The columns of records without their frames.

    ``payload`` (binary) is null where it cannot be inflated or no version is known; ``version`` (int) is the number of the
    writer schema's version; ``index`` (int) is one of :data:`INDEX_AWS`, :data:`INDEX_CONFLUENT`, :data:`INDEX_NONE`.
    """

    payload: Column
    version: Column
    index: Column


class PayloadFormat(Protocol):
    """One data format. Implementations are in :mod:`penstock.spark.decode.formats`, made of :class:`FormatSettings`."""

    def reader(self, reader: SchemaVersion, writers: Sequence[SchemaVersion]) -> str:
        """Return the definition that payloads of all ``writers`` are read to.

        Raises :class:`~penstock.errors.DataProblem` for a definition that cannot be used.
        """
        ...

    def rows(self, payloads: Payloads, writers: Sequence[SchemaVersion], reader: str) -> Column:
        """Return the struct of ``body`` and ``tail`` of each payload; ``reader`` is a result of :meth:`reader`.

        Without ``writers`` nothing is decoded, and the column has only the type.
        """
        ...

    def missing_fields(self, writer: str, reader: str) -> list[str]:
        """Return the paths of the fields of ``writer`` that rows of ``reader`` lack, only the outermost."""
        ...

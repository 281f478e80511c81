"""The accounts: for each batch and sink a row that says what was consumed, and what became of it.

A batch's rows are one Parquet file with a fixed name, written before the batch is committed: a batch that is rolled forward
writes the same file again. So a sum over the table counts each batch once.
"""

import io
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.lake.files import FileSystem
from penstock.lake.ledger import Manifest
from penstock.pipelines.model import Pipeline
from penstock.spark.metrics import BatchMetrics
from penstock.types import arrow
from penstock.types.hive import render

__all__ = ["COLUMNS", "PARTITION_KEYS", "AccountsTable"]

_COUNTS = pa.map_(pa.string(), pa.int64())
_SCHEMA = pa.schema(
    [
        ("pipeline", pa.string()),
        ("query", pa.string()),
        ("batch_id", pa.int64()),
        ("sink", pa.string()),
        ("kind", pa.string()),
        ("start_offsets", pa.string()),
        ("end_offsets", pa.string()),
        ("consumed", pa.int64()),
        ("tombstones", pa.int64()),
        ("quarantined", pa.int64()),
        ("transformed", pa.int64()),
        ("received", pa.int64()),
        ("written", pa.int64()),
        ("files", pa.int64()),
        ("bytes", pa.int64()),
        ("reference", pa.string()),
        ("versions", _COUNTS),
        ("reasons", _COUNTS),
        ("expectations", _COUNTS),
        ("seconds", pa.map_(pa.string(), pa.float64())),
        ("attempts", pa.int32()),
        ("accounted_at", pa.timestamp("us", tz="UTC")),
    ]
)

COLUMNS: Mapping[str, str] = {
    **{field.name: render(arrow.in_hive_table(arrow.parse(field.type))) for field in _SCHEMA},
    "date": "string",
}
"""Names and Hive types; ``date`` is the day (UTC) on which the batch was accounted for."""

PARTITION_KEYS = ("date",)


class AccountsTable:
    """Writes the accounts of one pipeline below ``location``."""

    def __init__(self, files: FileSystem, pipeline: Pipeline, location: str) -> None:
        self._files = files
        self._pipeline = pipeline
        self.location = location.rstrip("/")

    def write(self, manifest: Manifest, metrics: BatchMetrics, sinks: Mapping[str, Mapping[str, Any]]) -> str:
        """Write the rows of a batch; return their partition's folder (``date=2026-01-31``).

        ``sinks`` maps names to what each sink did: ``received``, ``written``, ``files``, ``bytes``, ``reference``. The day
        is that of the manifest, so that the file's name is the same in every attempt.
        """
        day = datetime.fromtimestamp(manifest.facts["staged_at"], UTC).date().isoformat()
        folder = f"date={day}"
        rows = [self._row(manifest, metrics, name, sink_type, sinks.get(name, {})) for name, sink_type in self._kinds()]
        buffer = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA), buffer)
        name = f"accounts-{metrics.query}-{manifest.batch.id:010d}.parquet"
        self._files.write(f"{self.location}/{folder}/{name}", buffer.getvalue())
        return folder

    def _kinds(self) -> Sequence[tuple[str, str]]:
        return [(sink.name, sink.kind) for sink in self._pipeline.sinks]

    def _row(
        self, manifest: Manifest, metrics: BatchMetrics, name: str, sink_type: str, did: Mapping[str, Any]
    ) -> dict[str, Any]:
        facts, batch = manifest.facts, manifest.batch
        return {
            "pipeline": self._pipeline.name,
            "query": metrics.query,
            "batch_id": batch.id,
            "sink": name,
            "kind": sink_type,
            "start_offsets": _text(batch.start),
            "end_offsets": _text(batch.end),
            "consumed": facts["records"],
            "tombstones": facts["tombstones"],
            "quarantined": facts["dead"],
            "transformed": facts["rows"],
            "received": did.get("received", facts["rows"]),
            "written": did.get("written", 0),
            "files": did.get("files"),
            "bytes": did.get("bytes"),
            "reference": did.get("reference"),
            "versions": list(facts["versions"].items()),
            "reasons": list(facts["reasons"].items()),
            "expectations": list(facts["expectations"].items()),
            "seconds": list(metrics.seconds.items()),
            "attempts": metrics.attempts,
            "accounted_at": datetime.now(UTC),
        }


def _text(offsets: str) -> str:
    return json.dumps(json.loads(offsets), separators=(",", ":"))

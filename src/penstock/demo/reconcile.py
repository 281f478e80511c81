"""The demo's reconciliation: produced = written + dead-lettered, each id once, every field as at the source.

This module reads the lake with pyarrow alone, so that no code checks its own writes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from penstock.errors import DataProblem

__all__ = ["Reconciliation", "compare_rows", "expected_rows", "read_rows", "reconcile"]

_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciliation:
    """Counts of sent and received records, and every difference, in words."""

    produced: int
    written: int
    dead_lettered: int
    differences: Sequence[str]

    def check(self) -> None:
        """Raise :class:`DataProblem` that lists the differences, if there are any."""
        if self.differences:
            listed = "\n".join(f"  - {difference}" for difference in self.differences)
            raise DataProblem(f"The reconciliation failed:\n{listed}")


def read_rows(folder: Path, schema: pa.Schema, partition_keys: Sequence[str]) -> pa.Table:
    """Return all rows of the Parquet files under ``folder``, with ``schema``'s columns; paths have the partition values."""
    keys = pa.schema([schema.field(key) for key in partition_keys])
    files = sorted(
        str(path)
        for path in folder.rglob("*.parquet")
        if not any(part.startswith(("_", ".")) for part in path.relative_to(folder).parts)
    )
    if not files:
        return schema.empty_table()
    rows = ds.dataset(
        files,
        schema=schema,
        format="parquet",
        partitioning=ds.partitioning(keys, flavor="hive"),
        partition_base_dir=str(folder),
    )
    return rows.to_table().select(schema.names)


def expected_rows(source: pa.Table, versions: pa.ChunkedArray, late_fields: Sequence[str]) -> pa.Table:
    """Return the expected rows of ``source``: ``late_fields`` are null if the record was written with version 1."""
    is_old = pc.equal(versions, 1)
    for name in late_fields:
        at = source.schema.get_field_index(name)
        column = pc.if_else(is_old, pa.scalar(None, source.schema.field(at).type), source[name])
        source = source.set_column(at, source.schema.field(at), column)
    return source


def compare_rows(expected: pa.Table, actual: pa.Table, key: str) -> list[str]:
    """Return the differences between two tables with the same columns, matched on ``key``; empty when there are none."""
    compare_ids = _compare_ids(expected[key], actual[key], key)
    shared = pc.is_in(actual[key], value_set=expected[key].combine_chunks())
    mine = actual.filter(shared).sort_by(key)
    if compare_ids or mine.num_rows != expected.num_rows:
        mine = _first_of_each(mine, key)
    theirs = expected.filter(pc.is_in(expected[key], value_set=mine[key].combine_chunks())).sort_by(key)
    for name in expected.column_names:
        left, right = theirs[name], mine[name].cast(theirs.schema.field(name).type)
        same = pc.or_(pc.fill_null(pc.equal(left, right), False), pc.and_(pc.is_null(left), pc.is_null(right)))
        differing = pc.indices_nonzero(pc.invert(same))
        if len(differing):
            at = differing[0].as_py()
            compare_ids.append(
                f"column {name}: {len(differing)} values differ, first at {key} {theirs[key][at]}: "
                f"sent {left[at].as_py()!r}, read {right[at].as_py()!r}"
            )
    return compare_ids


def reconcile(
    expected: pa.Table,
    actual: pa.Table,
    *,
    key: str,
    dead_sent: Mapping[tuple[str, int, int], bytes],
    dead_read: Mapping[tuple[str, int, int], bytes],
    dead_rows: int,
) -> Reconciliation:
    """Reconcile the sent records of one run with the received ones.

    ``dead_sent`` and ``dead_read`` map (topic, partition, offset) to the record's bytes; ``dead_rows`` counts the
    dead-letter table's rows, duplicates included.
    """
    produced = expected.num_rows + len(dead_sent)
    differences = compare_rows(expected, actual, key)
    if dead_rows != len(dead_read):
        differences.append(f"the dead-letter table has {dead_rows} rows for {len(dead_read)} records")
    for what, ours, theirs in (("lacks", dead_sent, dead_read), ("has besides", dead_read, dead_sent)):
        odd = sorted(set(ours) - set(theirs))
        if odd:
            differences.append(f"the dead-letter table {what} {len(odd)} records: {_some(odd)}")
    changed = sorted(place for place in set(dead_sent) & set(dead_read) if dead_sent[place] != dead_read[place])
    if changed:
        differences.append(f"the bytes of {len(changed)} dead letters changed: {_some(changed)}")
    if produced != actual.num_rows + dead_rows:
        differences.append(f"{produced} produced, but {actual.num_rows} written + {dead_rows} dead-lettered")
    return Reconciliation(produced=produced, written=actual.num_rows, dead_lettered=dead_rows, differences=differences)


def _compare_ids(expected: pa.ChunkedArray, actual: pa.ChunkedArray, key: str) -> list[str]:
    compare_ids = []
    lost = expected.filter(pc.invert(pc.is_in(expected, value_set=actual.combine_chunks())))
    if len(lost):
        compare_ids.append(f"{len(lost)} records were lost, {key} {_some(lost.to_pylist())}")
    strange = actual.filter(pc.invert(pc.is_in(actual, value_set=expected.combine_chunks())))
    if len(strange):
        compare_ids.append(f"{len(strange)} records were never sent, {key} {_some(strange.to_pylist())}")
    counts = pa.table({key: actual}).group_by(key).aggregate([(key, "count")])
    repeated = counts.filter(pc.greater(counts[f"{key}_count"], 1))
    if repeated.num_rows:
        compare_ids.append(
            f"{repeated.num_rows} records were written more than once, {key} {_some(repeated[key].to_pylist())}"
        )
    return compare_ids


def _first_of_each(rows: pa.Table, key: str) -> pa.Table:
    firsts = (
        rows.append_column("_row", pa.array(range(rows.num_rows), pa.int64())).group_by(key).aggregate([("_row", "min")])
    )
    return rows.take(firsts["_row_min"]).sort_by(key)


def _some(values: Sequence[object]) -> str:
    shown = ", ".join(str(value) for value in values[:_SHOWN])
    return shown + (", ..." if len(values) > _SHOWN else "")

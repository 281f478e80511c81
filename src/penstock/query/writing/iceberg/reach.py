"""The files that a table's metadata refers to. Source: Iceberg table specification, "Snapshots", "Manifest Lists"."""

from collections.abc import Iterable

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from penstock.query.tables.iceberg.lake_io import LakeIO
from penstock.query.tables.iceberg.planning import manifests_of, read_entries
from penstock.query.tables.iceberg.state import IcebergState

__all__ = ["metadata_files", "snapshot_files"]


def snapshot_files(snapshots: Iterable[Snapshot], io: LakeIO) -> set[str]:
    """Return the locations of the snapshots' manifest lists, manifests, data files and delete files."""
    found: set[str] = set()
    for snapshot in snapshots:
        found.add(snapshot.manifest_list)
        for manifest in manifests_of(snapshot, io):
            if manifest.manifest_path not in found:
                found.add(manifest.manifest_path)
                found.update(each.data_file.file_path for each in read_entries(manifest, io, live=False))
    return found


def metadata_files(state: IcebergState, metadata: TableMetadata) -> set[str]:
    """Return the locations of the metadata file, of earlier ones in its log, and of statistics."""
    found = {state.location, *(each.metadata_file for each in metadata.metadata_log)}
    for each in (*metadata.statistics, *metadata.partition_statistics):
        found.add(each.statistics_path)
    return found

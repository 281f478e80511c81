"""Exactly-once commits of batches to a lake: stage, write the manifest, rename, commit; a replay changes nothing.

Layout below a table's folder, hidden from readers by the underscore::

    _penstock/PIPELINE/staging/BATCH/...                  files being written
    _penstock/PIPELINE/rows/BATCH/...                     rows for sinks that are not files, the same in every attempt
    _penstock/PIPELINE/state/QUERY-BATCH/...              what the next batches need of this one
    _penstock/PIPELINE/ledger/NNNN-QUERY/BATCH.prepared   manifest: the planned renames
    _penstock/PIPELINE/ledger/NNNN-QUERY/BATCH.committed  the same manifest, after all its files are in place
    _penstock/PIPELINE/ledger-of                          in the other tables of the pipeline: the table with the ledger

QUERY is the id that Spark stores in the checkpoint. A batch is identified by its number in that query *and* the source
offsets that it read: the same pair again is a replay and a no-op; the same number with other offsets means that the
checkpoint was changed, and is refused. A manifest without its ``committed`` is rolled forward if all its files exist,
otherwise back. Sinks that are not files are written while the batch is prepared, from the staged rows, and know a batch that
they have (:mod:`penstock.spark.sinks.port`).

After a power loss, synced changes exist, and any part of the others. So each step is synced before the next one relies on
it: staged files before the manifest that names them, renamed files before ``committed``, files removed by a rollback
before their manifest.

The last :data:`KEEP` manifests are kept; older ones are deleted, so that the ledger does not grow with the stream.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from penstock.errors import DataProblem
from penstock.lake.compaction import HIDDEN, Relocations
from penstock.lake.files import FileSystem, Uploads

__all__ = [
    "HIDDEN",
    "KEEP",
    "LEDGER_OF",
    "RESTORE",
    "Batch",
    "BatchState",
    "CommitHooks",
    "Ledger",
    "Manifest",
    "Move",
    "final_name",
    "plan_moves",
]

KEEP = 100
"""Number of kept committed manifests. Spark replays only the last batch; null rates and users need the others."""

LEDGER_OF = "ledger-of"
"""The file in a further table's hidden folder of a pipeline that has the location of the table with the ledger."""

RESTORE = "Restore the checkpoint, or name a new one and go on from the ledger's last offsets with --resume-from-ledger."
"""The remedy if checkpoint and ledger do not belong together."""

_MANIFEST = re.compile(r"(\d{10})\.(prepared|committed)")
_GENERATION = re.compile(r"(\d{4})-([0-9a-f]{32})")

BatchState = Literal["new", "prepared", "committed"]
"""The state of a batch."""

_Recorded = Literal["prepared", "committed"]


@dataclass(frozen=True, slots=True)
class Batch:
    """A micro-batch: its number in the query, and the source's end (and start) offsets as canonical text."""

    id: int
    start: str
    end: str


@dataclass(frozen=True, slots=True)
class Move:
    """The rename of one file from staging to its final path."""

    staged: str
    final: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The changes of one batch: files to rename, by table partition, and facts for later batches.

    ``partitions`` maps a table's location to its partition folders (``date=2013-01-01``). ``inputs`` are staged files that
    are not renamed: rows for other sinks, and the state in the folder ``state``, which is kept until a later batch has
    another one. ``facts`` are small JSON values (rows, nulls by column) that later batches are compared with.
    """

    batch: Batch
    moves: tuple[Move, ...]
    inputs: tuple[str, ...] = ()
    state: str | None = None
    partitions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> bytes:
        """Return the manifest's bytes in the ledger."""
        return json.dumps(asdict(self), separators=(",", ":"), sort_keys=True).encode()

    @classmethod
    def from_json(cls, data: bytes, path: str) -> "Manifest":
        """Return the manifest in ``data``. Raises :class:`DataProblem` with ``path`` if it is damaged."""
        try:
            raw = json.loads(data)
            moves = tuple(Move(**move) for move in raw["moves"])
            return cls(
                batch=Batch(**raw["batch"]),
                moves=moves,
                inputs=tuple(raw.get("inputs", ())),
                state=raw.get("state"),
                partitions=raw["partitions"],
                facts=raw["facts"],
            )
        except (ValueError, KeyError, TypeError) as error:
            raise DataProblem(
                f"The ledger's manifest {path} is damaged: {error}.",
                remedy="Restore it from a backup; without it the batch would run again, a duplicate if it was committed.",
            ) from error


def final_name(query: str, batch: int, number: int, suffix: str) -> str:
    """Return the fixed name of file ``number`` of a batch: ``part-QUERY-0000000007-0000.snappy.parquet``."""
    return f"part-{query}-{batch:010d}-{number:04d}{suffix}"


def plan_moves(staged: Mapping[str, int], *, folder: str, table: str, query: str, batch: int) -> tuple[Move, ...]:
    """Return the target of each staged data file: the same partition folder below ``table``, a deterministic name.

    ``staged`` maps paths below ``folder`` to bytes. Files that readers skip (``_SUCCESS``, ``.crc``) are left out.
    """
    prefix = folder.rstrip("/") + "/"
    moves: list[Move] = []
    for path in sorted(staged):
        *parents, name = path[len(prefix) :].split("/")
        if name.startswith(("_", ".")) or any(parent.startswith(("_", ".")) for parent in parents):
            continue
        suffix = name[name.index(".") :] if "." in name else ""
        suffix = re.sub(r"^\.c\d+", "", suffix)  # Spark numbers the files of one task: part-00000-….c000.snappy.parquet
        target = "/".join([table.rstrip("/"), *parents, final_name(query, batch, len(moves), suffix)])
        moves.append(Move(path, target, staged[path]))
    return tuple(moves)


class CommitHooks:
    """A caller's hooks of :meth:`Ledger.run`; these do nothing. They are called again if a batch is run again."""

    def step(self, name: str) -> AbstractContextManager[None]:  # noqa: ARG002 - for hooks that measure it
        """Return the context of a step: ``prepare``, ``publish``, ``sinks``, ``catalog``, ``commit``."""
        return nullcontext()

    def moved(self, count: int) -> None:
        """Called when the first ``count`` files of the manifest are in place."""

    def extend_tables(self, manifest: Manifest) -> None:
        """Called when the manifest is written and no file is in place: make the tables fit the batch's files."""

    def publish_rows(self, manifest: Manifest) -> None:
        """Called for a batch with ``inputs`` when all files are in place: write the rows to the other sinks, once."""

    def update_catalog(self, manifest: Manifest) -> None:
        """Called when all sinks have the rows and the batch is not committed yet."""

    def committed(self, manifest: Manifest) -> None:
        """Called when the batch is committed, by this run or an earlier one."""


class Ledger:
    """The commits of one pipeline to one table (and to its further tables, such as dead letters)."""

    def __init__(
        self,
        files: FileSystem,
        *,
        table: str,
        pipeline: str,
        query: str,
        also: Sequence[str] = (),
        uploads: Uploads | None = None,
    ) -> None:
        """``query``: id of the Spark query (a UUID); ``also``: locations of further tables that a batch writes to.

        ``uploads``: where staged files are records of uploads (:mod:`penstock.lake.object_files`). Call :meth:`open` first.
        """
        self._files = files
        self._uploads = uploads
        self._pipeline = pipeline
        self._placed: Relocations | None = None
        self._root = f"{table.rstrip('/')}/{HIDDEN}/{pipeline}"
        self._tables = [name.rstrip("/") for name in (table, *also)]
        self._stagings = [f"{name}/{HIDDEN}/{pipeline}/staging" for name in self._tables]
        self._rows = f"{self._root}/rows"
        self.query = query.replace("-", "").lower()
        self._folder = ""
        self._read: dict[int, Manifest] = {}

    def current_query(self) -> str | None:
        """Return the query that committed last, None for a new ledger."""
        generations = self._generations()
        return generations[-1][1] if generations else None

    def declared(self) -> bytes | None:
        """Return what :meth:`declare` kept last; None if it never was called."""
        try:
            return self._files.read(f"{self._root}/ledger/declared.json")
        except FileNotFoundError:
            return None

    def declare(self, declaration: bytes) -> None:
        """Keep what a later run compares its declaration with."""
        self._files.write(f"{self._root}/ledger/declared.json", declaration)

    def open(self, *, adopt: bool = False) -> None:
        """Bind the ledger to this query; with ``adopt``, as the successor of another one.

        A batch that the other query left prepared is rolled back, unless sinks that are not files may have its rows
        (see :meth:`finish`). Raises :class:`DataProblem` for such a batch, and if another query wrote here and ``adopt`` is
        not set.
        """
        self._point_to_ledger()
        generations = self._generations()
        if generations and generations[-1][1] == self.query:
            self._folder = self._generation(*generations[-1])
            return
        if generations:
            if not adopt and self.last() is not None:
                raise DataProblem(
                    f"The ledger {self._root} belongs to query {generations[-1][1]}, this checkpoint to {self.query}.",
                    remedy=RESTORE,
                )
            self._folder = self._generation(*generations[-1])
            for batch, state in self._states().items():
                if state == "prepared":
                    self._check_not_published(batch)
                    self._roll_back(batch)
        self._folder, self._read = self._generation(generations[-1][0] + 1 if generations else 0, self.query), {}
        self._files.write(f"{self._folder}/opened", b"{}")
        # The parent folders are new, too.
        self._files.sync([f"{self._folder}/opened"], below=self._tables[0])

    def _point_to_ledger(self) -> None:
        """Write in the other tables where their ledger is, for readers (:mod:`penstock.lake.visible`)."""
        for table in self._tables[1:]:
            folder = f"{table}/{HIDDEN}/{self._pipeline}"
            if LEDGER_OF not in self._files.names(folder):
                self._files.write(f"{folder}/{LEDGER_OF}", self._tables[0].encode())

    def finish(self, hooks: CommitHooks) -> list[int]:
        """Roll forward batches that were left prepared with rows for sinks that are not files; return their numbers.

        To be called on a ledger of :meth:`current_query` before another query's ledger adopts its place.
        """
        prepared = [batch for batch, state in sorted(self._states().items()) if state == "prepared"]
        finished = []
        for number in prepared:
            manifest = self._resumable(number)
            if manifest is not None and manifest.inputs:
                self._complete(manifest, hooks)
                finished.append(number)
        return finished

    def _check_not_published(self, batch: int) -> None:
        if self._manifest(batch, "prepared").inputs:
            raise DataProblem(
                f"Batch {batch} in the ledger {self._folder} was not committed, and its sinks may have its rows.",
                remedy="Run the pipeline once with the checkpoint that the batch belongs to.",
            )

    def _generation(self, number: int, query: str) -> str:
        return f"{self._root}/ledger/{number:04d}-{query}"

    def _generations(self) -> list[tuple[int, str]]:
        matches = (_GENERATION.fullmatch(name) for name in self._files.names(f"{self._root}/ledger"))
        return sorted((int(match[1]), match[2]) for match in matches if match)

    def staging(self, batch: int, table: int = 0) -> str:
        """Return the folder of a batch's files before they are published; ``table`` counts those of ``also`` from 1.

        Each table has its own, because not every file system renames from one bucket to another.
        """
        return f"{self._stagings[table]}/{batch:010d}"

    def rows_folder(self, batch: int) -> str:
        """Return the folder of a batch's rows for sinks that are not files."""
        return f"{self._rows}/{batch:010d}"

    def state_folder(self, batch: int) -> str:
        """Return the folder of a batch's state."""
        return f"{self._root}/state/{self.query}-{batch:010d}"

    def _drop_staging(self, batch: int) -> None:
        for table in range(len(self._stagings)):
            self._files.delete(self.staging(batch, table))
        self._files.delete(self.rows_folder(batch))

    def clear_staging(self) -> list[str]:
        """Remove staged files and uploads of killed attempts that no manifest names; return the removed folders."""
        prepared = [batch for batch, state in self._states().items() if state == "prepared"]
        wanted = {f"{batch:010d}" for batch in prepared}
        roots = [*self._stagings, self._rows]
        orphans = [f"{root}/{name}" for root in roots for name in self._files.names(root) if name not in wanted]
        for path in orphans:
            self._files.delete(path)
        if self._uploads is not None:
            own = tuple(f"part-{query}-" for _, query in self._generations())
            keep = [move.staged for batch in prepared for move in self._manifest(batch, "prepared").moves]
            for table in self._tables:
                self._uploads.abort_uploads(table, of=lambda name: name.startswith(own), keep=keep)
        return orphans

    def last(self) -> Manifest | None:
        """Return the last committed batch of the current query, or of the previous one if it has none yet."""
        for number, query in reversed(self._generations()):
            folder = self._generation(number, query)
            committed = [batch for batch, state in self._states(folder).items() if state == "committed"]
            if committed:
                return self._manifest(max(committed), "committed", folder)
        return None

    def recent(self, count: int) -> list[Manifest]:
        """Return up to ``count`` committed manifests of this query, newest first."""
        committed = sorted((batch for batch, state in self._states().items() if state == "committed"), reverse=True)
        # A committed manifest never changes, so each is read once.
        self._read = {batch: self._read.get(batch) or self._manifest(batch, "committed") for batch in committed[:count]}
        return list(self._read.values())

    def run(self, batch: Batch, stage: Callable[[], Manifest], hooks: CommitHooks | None = None) -> BatchState:
        """Commit a batch; run it again after a kill at any point.

        ``stage`` writes the batch's files below :meth:`staging` and describes them; it is not called for a batch that is
        prepared or committed. Returns the state that the batch was found in: ``prepared`` was rolled forward,
        ``committed`` is a replay. Raises :class:`DataProblem` if the number is taken by other offsets or is older than the
        kept manifests, or if a file is neither staged nor in place.
        """
        hooks = hooks or CommitHooks()
        state = self._state(batch)
        if state == "committed":
            manifest = self._manifest(batch.id, "committed")
            hooks.committed(manifest)
            self._tidy(batch.id, state=manifest.state)
            return state
        prepared = self._resumable(batch.id) if state == "prepared" else None
        if prepared is not None:
            manifest = prepared
        else:
            state = "new"
            # 1. Stage the files where readers do not see them.
            manifest = stage()
            # 2. Write the manifest of the files to publish.
            with hooks.step("prepare"):
                self._prepare(manifest)
        self._complete(manifest, hooks)
        return state

    def _complete(self, manifest: Manifest, hooks: CommitHooks) -> None:
        """Roll a prepared batch forward."""
        # 3. Rename the files into the tables, which have their columns by then.
        hooks.extend_tables(manifest)
        with hooks.step("publish"):
            self._publish(manifest, hooks.moved)
        # 4. Write the staged rows to the other sinks.
        if manifest.inputs:
            with hooks.step("sinks"):
                hooks.publish_rows(manifest)
        # 5. Update the catalog.
        with hooks.step("catalog"):
            hooks.update_catalog(manifest)
        # 6. Commit. The rest is clean-up.
        with hooks.step("commit"):
            self._files.write(self._path(manifest.batch.id, "committed"), manifest.to_json())
        hooks.committed(manifest)
        self._tidy(manifest.batch.id, state=manifest.state)

    def _state(self, batch: Batch) -> BatchState:
        states = self._states()
        state = states.get(batch.id)
        if state is None:
            committed = [number for number, item in states.items() if item == "committed"]
            if committed and batch.id < max(committed):
                raise DataProblem(
                    f"Batch {batch.id} of query {self.query} is older than what the ledger {self._folder} has committed "
                    f"(up to {max(committed)}): an older checkpoint was restored.",
                    remedy=RESTORE,
                )
            return "new"
        known = self._manifest(batch.id, state).batch
        if known != batch:
            raise DataProblem(
                f"Batch {batch.id} of query {self.query} was {state} with offsets {known.start} to {known.end}, and now "
                f"comes with {batch.start} to {batch.end}: the checkpoint was replaced or edited.",
                remedy=RESTORE,
            )
        return state

    def _prepare(self, manifest: Manifest) -> None:
        """Write the manifest; from here on the batch can be rolled forward."""
        self._sync([*(move.staged for move in manifest.moves), *manifest.inputs])
        self._files.write(self._path(manifest.batch.id, "prepared"), manifest.to_json())

    def _publish(self, manifest: Manifest, moved: Callable[[int], None]) -> None:
        """Rename the files to their final paths, or to where their partition is by now. Idempotent."""
        before = self._relocations()
        for count, move in enumerate(manifest.moves, start=1):
            place = before.place(move.final)
            try:
                self._files.move(move.staged, place)
            except FileNotFoundError:
                if place != move.final:
                    with suppress(FileNotFoundError):
                        self._files.move(move.final, place)
                if not self._files.exists(place):
                    raise DataProblem(
                        f"Batch {manifest.batch.id}: {move.staged} is gone and {move.final} does not exist."
                    ) from None
            moved(count)
        self._sync([before.place(move.final) for move in manifest.moves])
        after = self._relocations()
        late = [move for move in manifest.moves if after.place(move.final) != before.place(move.final)]
        for move in late:
            with suppress(FileNotFoundError):  # the compaction moved it
                self._files.move(before.place(move.final), after.place(move.final))
        self._sync([after.place(move.final) for move in late])
        self._placed = after

    def _relocations(self) -> Relocations:
        return Relocations(self._files, self._tables)

    def _in_place(self, move: Move, relocations: Relocations) -> bool:
        return self._files.exists(move.final) or self._files.exists(relocations.place(move.final))

    def placed(self, manifest: Manifest) -> list[str]:
        """Return where the files of the manifest are: at their final paths, or where their partition was moved to."""
        relocations = self._placed or self._relocations()
        return [relocations.place(move.final) for move in manifest.moves]

    def _sync(self, paths: Sequence[str]) -> None:
        for table in self._tables:
            of_table = [path for path in paths if path.startswith(f"{table}/")]
            if of_table:
                self._files.sync(of_table, below=table)

    def _tidy(self, batch: int, *, state: str | None) -> None:
        """After the commit: remove the batch's staging, states but ``state``, and manifests beyond :data:`KEEP`."""
        self._drop_staging(batch)
        if state is not None:
            for name in self._files.names(f"{self._root}/state"):
                if f"{self._root}/state/{name}" != state:
                    self._files.delete(f"{self._root}/state/{name}")
        states = self._states()
        committed = sorted(number for number, state in states.items() if state == "committed")
        stale = set(committed[:-KEEP])
        for name in self._files.names(self._folder):
            match = _MANIFEST.fullmatch(name)
            number = int(match[1]) if match else -1
            if match and (number in stale or (match[2] == "prepared" and states.get(number) == "committed")):
                self._files.delete(f"{self._folder}/{name}")

    def _resumable(self, batch: int) -> Manifest | None:
        """Return the manifest of a prepared batch if all its files exist, staged or in place; otherwise roll it back.

        Rolled back, it is staged again, and sinks that have it already keep what they have.
        """
        manifest = self._manifest(batch, "prepared")
        relocations = self._relocations()
        moved = all(self._files.exists(move.staged) or self._in_place(move, relocations) for move in manifest.moves)
        if moved and all(self._files.exists(path) for path in manifest.inputs):
            return manifest
        self._roll_back(batch)
        return None

    def _roll_back(self, batch: int) -> None:
        """Undo a batch that was prepared and not committed: remove only its own files."""
        moves = self._manifest(batch, "prepared").moves
        relocations = self._relocations()
        places = sorted({path for move in moves for path in (move.final, relocations.place(move.final))})
        for path in places:
            self._files.delete(path)
        self._sync(places)
        self._drop_staging(batch)
        path = self._path(batch, "prepared")
        self._files.delete(path)
        # The next attempt may stage files of the same names, which this manifest must not name after a power loss.
        self._files.sync([path], below=self._tables[0])

    def _states(self, folder: str | None = None) -> dict[int, _Recorded]:
        states: dict[int, _Recorded] = {}
        for name in self._files.names(folder or self._folder):
            match = _MANIFEST.fullmatch(name)
            if match and states.get(int(match[1])) != "committed":
                states[int(match[1])] = "committed" if match[2] == "committed" else "prepared"
        return states

    def _manifest(self, batch: int, state: _Recorded, folder: str | None = None) -> Manifest:
        path = f"{folder or self._folder}/{batch:010d}.{state}"
        return Manifest.from_json(self._files.read(path), path)

    def _path(self, batch: int, state: _Recorded) -> str:
        return f"{self._folder}/{batch:010d}.{state}"

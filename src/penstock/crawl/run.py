"""One crawl: list the files, recognise those not seen before, infer tables, write them to the catalog."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from penstock.catalog.model import Column
from penstock.catalog.service import CatalogService
from penstock.crawl.access import CrawlAccess
from penstock.crawl.apply import Applier
from penstock.crawl.classifiers.model import Recognizer
from penstock.crawl.configuration import Configuration
from penstock.crawl.formats.recognize import recognize
from penstock.crawl.globs import exclusion
from penstock.crawl.infer import FoundTable, Problems, infer_tables
from penstock.crawl.model import CatalogTarget, Crawler, DeltaTarget, IcebergTarget, OtherTarget, S3Target, SeenFile, Tally
from penstock.crawl.store import CrawlStore
from penstock.crawl.targets.lake_tables import delta_tables, folder_uri, iceberg_tables
from penstock.crawl.targets.port import DescribedTable, Scope, SourceFinder
from penstock.errors import DataProblem
from penstock.lake.locations import SCHEMES, LakePaths
from penstock.lake.statistics import LakeFile, walk

__all__ = ["CrawlContext", "crawl"]

_READERS = 4
_BATCH = 500
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlContext:
    """What a crawl works with.

    ``check`` is called often and raises to end the crawl early; ``access`` decides on its changes and records them.
    ``custom`` are the crawler's own classifiers; with ``reread``, all files are read again because those changed.
    ``sources`` finds tables outside the lake, None if the server reads none.
    """

    store: CrawlStore
    catalog: CatalogService
    lake: LakePaths
    now: datetime
    check: Callable[[], None]
    access: CrawlAccess
    custom: Sequence[Recognizer] = ()
    reread: bool = False
    sources: SourceFinder | None = None


def crawl(crawler: Crawler, context: CrawlContext) -> Tally:
    """Run ``crawler`` once and return its counts.

    Raises :class:`PenstockError` if the crawl cannot continue; the files read by then are remembered.
    """
    run = _Crawl(crawler, context)
    catalog_targets = [target for target in crawler.others if isinstance(target, CatalogTarget)]
    inferred = {table.location: table for target in crawler.targets for table in run.tables(target, run.settings)}
    described, scopes = run.described()
    existing = [run.existing(target) for target in catalog_targets]
    run.forget()
    count = len(inferred) + len(described)
    if run.settings.threshold is not None and count > run.settings.threshold:
        raise DataProblem(
            f"The crawl found {count} tables, more than its TableThreshold of {run.settings.threshold}: the catalog is not "
            "changed.",
            remedy="Group the files (TableLevelConfiguration), exclude some, or raise the threshold.",
        )
    applier = run.applier(crawler, Tally())
    if crawler.targets:
        applier.apply(
            [inferred[location] for location in sorted(inferred)],
            [folder_uri(s3_target.path) for s3_target in crawler.targets],
        )
    if scopes:
        applier.describe(described, scopes)
    for target, tables in zip(catalog_targets, existing, strict=True):
        applier = run.applier(replace(crawler, database=target.database), applier.tally, only=target.tables)
        applier.apply(tables, [])
    return replace(
        applier.tally,
        files_found=len(run.current),
        files_read=run.read,
        problem_count=run.problems.count,
        problems=tuple(run.problems.sentences),
    )


class _Crawl:
    """One crawl's reading, and what it has read."""

    def __init__(self, crawler: Crawler, context: CrawlContext) -> None:
        self._crawler = crawler
        self._context = context
        self._seen = dict(context.store.seen(crawler.name))
        self._folders = {_folder_of(uri) for uri in self._seen}
        self.settings = Configuration.stored(crawler.configuration)
        self.problems = Problems()
        self.current: dict[str, SeenFile] = {}
        self.read = 0

    def applier(self, crawler: Crawler, tally: Tally, *, only: Sequence[str] | None = None) -> Applier:
        """Return what writes to the catalog, counting on from ``tally``; ``only`` are the tables that it may change."""
        context = self._context
        return Applier(
            context.catalog,
            crawler,
            self.problems,
            now=context.now,
            check=context.check,
            access=context.access,
            tally=tally,
            only=only,
        )

    def tables(self, target: S3Target, settings: Configuration) -> Sequence[FoundTable]:
        """Read the files of a folder that are new or changed; return the tables of all of them."""
        context, location = self._context, folder_uri(target.path)
        everything = self._crawler.recrawl == "CRAWL_EVERYTHING"
        files = _list(context.lake, target, location, context.check)
        if not everything:
            files = {uri: file for uri, file in files.items() if uri in self._seen or _folder_of(uri) not in self._folders}
        files = _sampled(files, target.sample_size)
        unread = {
            uri: file
            for uri, file in files.items()
            if (context.reread or not _is_known(file, self._seen.get(uri))) and (everything or _is_new(self._seen.get(uri)))
        }
        self.read += len(unread)
        for uri in unread:
            context.lake.readable(uri)
        for batch in _read(unread, context.check, context.custom):
            context.store.remember(self._crawler.name, batch, [])
            self._seen.update((file.uri, file) for file in batch)
        # A file that was deleted between listing and reading is in neither.
        mine = {uri: self._seen[uri] for uri in files if uri in self._seen}
        self.current.update(mine)
        return infer_tables(location, mine.values(), self.problems, settings)

    def existing(self, target: CatalogTarget) -> Sequence[FoundTable]:
        """Read the folders of tables that are in the catalog; each is one table, whatever is in it."""
        tables: dict[str, FoundTable] = {}
        for name in target.tables:
            location = self._context.catalog.table(target.database, name).storage.location or ""
            if not location.startswith(SCHEMES):
                self.problems.add(f"Table {name} is skipped: it is not in the lake.")
                continue
            folder = folder_uri(location)
            whole = replace(self.settings, level=folder.count("/") - 2)
            tables.update((table.location, table) for table in self.tables(S3Target(path=folder), whole))
        return [tables[location] for location in sorted(tables)]

    def described(self) -> tuple[Sequence[DescribedTable], Sequence[Scope]]:
        """Return the tables of all other targets, and where they are."""
        tables_by_place: dict[tuple[str, str | None], DescribedTable] = {}
        scopes: list[Scope] = []
        for target in self._crawler.others:
            tables, its_scopes = self._described(target)
            tables_by_place.update(((table.place, table.connection), table) for table in tables)
            scopes += its_scopes
        return [tables_by_place[key] for key in sorted(tables_by_place, key=lambda key: (key[0], key[1] or ""))], scopes

    def _described(self, target: OtherTarget) -> tuple[Sequence[DescribedTable], Sequence[Scope]]:
        context = self._context
        match target:
            case CatalogTarget():
                return [], []
            case IcebergTarget():
                return iceberg_tables(context.lake, target, self.problems, context.check)
            case DeltaTarget():
                return delta_tables(context.lake, target, self.problems)
            case _:
                if context.sources is None:
                    raise DataProblem("This server reads no tables outside the lake.")
                return context.sources.find(target, context.check)

    def forget(self) -> None:
        """Forget the files that are gone."""
        missing = [uri for uri in self._seen if uri not in self.current]
        self._context.store.remember(self._crawler.name, [], missing)


def _list(lake: LakePaths, target: S3Target, location: str, check: Callable[[], None]) -> dict[str, LakeFile]:
    excluded = exclusion(target.exclusions)
    files: dict[str, LakeFile] = {}
    for batch in _batches(walk(lake, location)):
        check()
        for file, left_out in zip(batch, excluded([lake_file.key for lake_file in batch]), strict=True):
            if not left_out:
                files[location + file.key] = file
    return files


def _sampled(files: dict[str, LakeFile], size: int | None) -> dict[str, LakeFile]:
    """Return the first ``size`` files of each folder by name, so that the same files give the same sample."""
    if size is None:
        return files
    counts: Counter[str] = Counter()
    sample: dict[str, LakeFile] = {}
    for uri in sorted(files):
        counts[_folder_of(uri)] += 1
        if counts[_folder_of(uri)] <= size:
            sample[uri] = files[uri]
    return sample


def _folder_of(uri: str) -> str:
    return uri.rpartition("/")[0]


def _is_new(previous: SeenFile | None) -> bool:
    # A file that was not read completely counts as new.
    return previous is None or previous.modified < 0


def _is_known(file: LakeFile, previous: SeenFile | None) -> bool:
    return previous is not None and (previous.size, previous.modified) == (file.size, file.modified)


def _read(
    files: Mapping[str, LakeFile], check: Callable[[], None], custom: Sequence[Recognizer]
) -> Iterator[list[SeenFile]]:
    """Yield the files with columns or problem, some hundreds at a time; a few threads read them."""
    shared: dict[tuple[tuple[str, str | None], ...], tuple[Column, ...]] = {}
    with ThreadPoolExecutor(_READERS, thread_name_prefix="crawl-footer") as pool:
        for batch in _batches(files.items()):
            check()
            inspected = pool.map(lambda pair: _inspect(pair[0], pair[1], custom), batch)
            yield [replace(file, columns=_share(shared, file.columns)) for file in inspected if file is not None]


def _share(
    shared: dict[tuple[tuple[str, str | None], ...], tuple[Column, ...]], columns: Iterable[Column]
) -> tuple[Column, ...]:
    """Share equal lists of columns as one object, because a hundred thousand files have only a few."""
    shared_columns = tuple(columns)
    return shared.setdefault(tuple((column.name, column.type) for column in shared_columns), shared_columns)


def _inspect(uri: str, file: LakeFile, custom: Sequence[Recognizer]) -> SeenFile | None:
    seen_file = SeenFile(uri=uri, size=file.size, modified=file.modified)
    try:
        recognized = recognize(file.path, file.size, custom)
        status = file.path.stat()
        if (status.st_size, status.st_mtime_ns) != (file.size, file.modified):
            # What was read may be neither the old content nor the new one: the next crawl reads it again.
            return replace(seen_file, modified=-1, problem="it was changed while it was read")
        return replace(seen_file, rows=recognized.rows, columns=tuple(recognized.columns), format=recognized.format)
    except DataProblem as error:
        return replace(seen_file, problem=error.message)
    except FileNotFoundError:
        return None
    except OSError as error:
        # The error may be temporary: modified -1 makes the next crawl read the file again.
        return replace(seen_file, modified=-1, problem=f"it cannot be read ({error.strerror or error})")


def _batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    batch: list[Item] = []
    for item in items:
        batch.append(item)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch

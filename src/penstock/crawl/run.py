"""One crawl: list the files, recognise those not seen before, infer tables, write them to the catalog."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from penstock.catalog.model import Column
from penstock.catalog.service import CatalogService
from penstock.crawl.apply import Applier, OperationCheck
from penstock.crawl.classifiers.model import Recognizer
from penstock.crawl.configuration import Configuration
from penstock.crawl.formats.recognize import recognize
from penstock.crawl.globs import exclusion
from penstock.crawl.infer import FoundTable, Problems, infer_tables
from penstock.crawl.model import Crawler, S3Target, SeenFile, Tally
from penstock.crawl.store import CrawlStore
from penstock.errors import DataProblem
from penstock.lake.locations import LakeFolder, parse_uri
from penstock.lake.statistics import LakeFile, walk

__all__ = ["crawl"]

_READERS = 4
_BATCH = 500
Item = TypeVar("Item")


def crawl(
    crawler: Crawler,
    *,
    store: CrawlStore,
    catalog: CatalogService,
    lake: LakeFolder,
    now: datetime,
    check: Callable[[], None],
    check_operation: OperationCheck | None = None,
    custom: Sequence[Recognizer] = (),
    anew: bool = False,
) -> Tally:
    """Run ``crawler`` once and return its counts.

    ``check`` is called often and raises to end the crawl early; ``check_operation`` raises before a change that is
    denied. ``custom`` are the crawler's own classifiers; ``anew`` says that files are read again because those changed.

    Raises :class:`PenstockError` if the crawl cannot continue; the files read by then are remembered.
    """
    problems, settings = Problems(), Configuration.stored(crawler.configuration)
    seen = dict(store.seen(crawler.name))
    folders = {_folder_of(uri) for uri in seen}
    current: dict[str, SeenFile] = {}
    found: dict[str, FoundTable] = {}
    read = 0
    targets = [_folder(target) for target in crawler.targets]
    for target, location in zip(crawler.targets, targets, strict=True):
        files = _list(lake, target, location, check)
        if crawler.recrawl == "CRAWL_NEW_FOLDERS_ONLY":
            files = {uri: file for uri, file in files.items() if uri in seen or _folder_of(uri) not in folders}
        unread = {
            uri: file
            for uri, file in _sampled(files, target.sample_size).items()
            if (anew or not _is_known(file, seen.get(uri)))
            and (crawler.recrawl == "CRAWL_EVERYTHING" or _is_new(seen.get(uri)))
        }
        read += len(unread)
        for batch in _read(unread, check, custom):
            store.remember(crawler.name, batch, [])
            seen.update((file.uri, file) for file in batch)
        # A file that was deleted between listing and reading is in neither.
        mine = {uri: seen[uri] for uri in _sampled(files, target.sample_size) if uri in seen}
        current.update(mine)
        found.update((table.location, table) for table in infer_tables(location, mine.values(), problems, settings))
    store.remember(crawler.name, [], [uri for uri in seen if uri not in current])
    if settings.threshold is not None and len(found) > settings.threshold:
        raise DataProblem(
            f"The crawl found {len(found)} tables, more than its TableThreshold of {settings.threshold}: the catalog is not "
            "changed.",
            remedy="Group the files (TableLevelConfiguration), exclude some, or raise the threshold.",
        )
    applier = Applier(catalog, crawler, problems, now=now, check=check, check_operation=check_operation)
    applier.apply([found[location] for location in sorted(found)], targets)
    return replace(
        applier.tally,
        files_found=len(current),
        files_read=read,
        problem_count=problems.count,
        problems=tuple(problems.kept),
    )


def _folder(target: S3Target) -> str:
    where = parse_uri(target.path)
    return f"s3://{where.bucket}/{where.key.strip('/')}/" if where.key.strip("/") else f"s3://{where.bucket}/"


def _list(lake: LakeFolder, target: S3Target, location: str, check: Callable[[], None]) -> dict[str, LakeFile]:
    excluded = exclusion(target.exclusions)
    files: dict[str, LakeFile] = {}
    for batch in _batches(walk(lake, location)):
        check()
        for file, left_out in zip(batch, excluded([each.key for each in batch]), strict=True):
            if not left_out:
                files[location + file.key] = file
    return files


def _sampled(files: dict[str, LakeFile], size: int | None) -> dict[str, LakeFile]:
    """Return the first ``size`` files of each folder by name, so that the same files give the same sample."""
    if size is None:
        return files
    counts: Counter[str] = Counter()
    kept: dict[str, LakeFile] = {}
    for uri in sorted(files):
        counts[_folder_of(uri)] += 1
        if counts[_folder_of(uri)] <= size:
            kept[uri] = files[uri]
    return kept


def _folder_of(uri: str) -> str:
    return uri.rpartition("/")[0]


def _is_new(seen: SeenFile | None) -> bool:
    # A file that was not read whole is as good as new.
    return seen is None or seen.modified < 0


def _is_known(file: LakeFile, seen: SeenFile | None) -> bool:
    return seen is not None and (seen.size, seen.modified) == (file.size, file.modified)


def _read(
    files: Mapping[str, LakeFile], check: Callable[[], None], custom: Sequence[Recognizer]
) -> Iterator[list[SeenFile]]:
    """Yield the files with columns or problem, some hundreds at a time; a few threads read them."""
    shared: dict[tuple[tuple[str, str | None], ...], tuple[Column, ...]] = {}
    with ThreadPoolExecutor(_READERS, thread_name_prefix="crawl-footer") as pool:
        for batch in _batches(files.items()):
            check()
            done = pool.map(lambda item: _inspect(item[0], item[1], custom), batch)
            yield [replace(file, columns=_share(shared, file.columns)) for file in done if file is not None]


def _share(
    shared: dict[tuple[tuple[str, str | None], ...], tuple[Column, ...]], columns: Iterable[Column]
) -> tuple[Column, ...]:
    """Share equal lists of columns as one object, because a hundred thousand files have only a few."""
    kept = tuple(columns)
    return shared.setdefault(tuple((column.name, column.type) for column in kept), kept)


def _inspect(uri: str, file: LakeFile, custom: Sequence[Recognizer]) -> SeenFile | None:
    made = SeenFile(uri=uri, size=file.size, modified=file.modified)
    try:
        found = recognize(file.path, file.size, custom)
        status = file.path.stat()
        if (status.st_size, status.st_mtime_ns) != (file.size, file.modified):
            # What was read may be neither the old content nor the new one: the next crawl reads it again.
            return replace(made, modified=-1, problem="it was changed while it was read")
        return replace(made, rows=found.rows, columns=tuple(found.columns), format=found.format)
    except DataProblem as error:
        return replace(made, problem=error.message)
    except FileNotFoundError:
        return None
    except OSError as error:
        # The error may be temporary: modified -1 makes the next crawl read the file again.
        return replace(made, modified=-1, problem=f"it cannot be read ({error.strerror or error})")


def _batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    batch: list[Item] = []
    for item in items:
        batch.append(item)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch

"""Copies a live Confluent registry into another one: every version with its id and number, then compares the two.

The target is any registry with Confluent's API, mainly Penstock's. Copying a version that the target has already, with the
same id and number, changes nothing, so an import that was stopped continues when it is started again.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from json import dumps
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

from penstock.client.confluent import ConfluentClient
from penstock.errors import DataProblem, EnvironmentProblem, InvalidInput, NotFound

__all__ = ["ConfluentImport", "Difference", "ImportReport"]

_MAX_DEPTH = 100
_MAX_SUBJECTS = 1_000_000
_READERS = 8
_AHEAD = 100  # versions read before they are written
_LEVEL = "compatibilityLevel"
_SETTINGS = (
    _LEVEL,
    "normalize",
    "validateFields",
    "compatibilityPolicy",
    "compatibilityGroup",
    "defaultMetadata",
    "overrideMetadata",
)
_LOST = ("defaultRuleSet", "overrideRuleSet")
_KEPT = ("schema", "schemaType", "references", "metadata")

T = TypeVar("T", int, str)


class SubjectVersion(NamedTuple):
    """A subject and a version's number."""

    subject: str
    number: int

    def __str__(self) -> str:
        return f"subject {self.subject} version {self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A difference of the target from the source; ``version`` 0 is the subject itself."""

    subject: str
    version: int
    what: str

    def __str__(self) -> str:
        return f"{self.subject}{f' version {self.version}' if self.version else ''}: {self.what}"


@dataclass(slots=True, kw_only=True)
class ImportReport:
    """The result of an import. ``differences`` are those of the final comparison, in the order of the subjects."""

    subjects: int = 0
    versions: int = 0
    copied: int = 0
    deleted: int = 0
    levels: int = 0
    differences: list[Difference] = field(default_factory=list)


class ConfluentImport:
    """Copies the subjects of ``source`` whose names begin with ``prefix`` into ``target``.

    Subjects of the source's default context go into ``context`` of the target (without its dot); those of other contexts
    keep theirs. ``progress`` is called with the subject, how many are done, and how many there are.
    """

    def __init__(
        self,
        source: ConfluentClient,
        target: ConfluentClient,
        *,
        prefix: str = "",
        context: str | None = None,
        progress: Callable[[str, int, int], None] = lambda *_: None,
    ) -> None:
        self._source = source
        self._target = target
        self._prefix = prefix
        self._context = context
        self._progress = progress
        self._copied: set[SubjectVersion] = set()
        self._modes: dict[str, str | None] = {}
        self._switched: set[str] = set()
        self._refused: dict[SubjectVersion, str] = {}
        self._from_source: dict[SubjectVersion, dict[str, Any] | None] = {}
        self._from_target: dict[SubjectVersion, dict[str, Any] | None] = {}

    def run(self) -> ImportReport:
        """Copy the versions, soft-delete those that the source soft-deleted, set the levels, compare.

        Raises the errors of the two clients if a registry does not answer. A version that the target refuses becomes a
        difference, and the import continues.
        """
        report = ImportReport()
        subjects = [name for name in self._subjects() if name.startswith(self._prefix)]
        report.subjects = len(subjects)
        versions = {subject: self._numbers(subject) for subject in subjects}
        for subject in subjects:
            self._mode(_context_of(self._renamed(subject)))
        with ThreadPoolExecutor(_READERS, thread_name_prefix="penstock-import") as readers:
            try:
                for index, subject in enumerate(subjects):
                    self._progress(subject, index, len(subjects))
                    self._copy_all([SubjectVersion(subject, number) for number in versions[subject][0]], report, readers)
                for subject in versions:
                    self._level(subject, report)
                deleted = [SubjectVersion(subject, number) for subject, (_, gone) in versions.items() for number in gone]
                self._delete(deleted, report)
            finally:
                self._restore_modes()
            report.versions = sum(len(numbers) for numbers, _ in versions.values())
            report.differences.extend(self._changed_meanwhile(versions))
            report.differences.extend(self._compare(versions, readers))
        return report

    def _changed_meanwhile(self, versions: dict[str, tuple[list[int], list[int]]]) -> Iterator[Difference]:
        """Yield changes of the source since the import began: the API cannot read all lists at one moment."""
        now = [name for name in self._subjects() if name.startswith(self._prefix)]
        for subject in dict.fromkeys((*versions, *now)):
            try:
                numbers, deleted = self._numbers(subject) if subject in now else ([], [])
            except NotFound:
                numbers, deleted = [], []
            before, before_deleted = versions.get(subject, ([], []))
            for number in sorted({*before, *numbers}):
                if (number in before) != (number in numbers):
                    what = "was added to the source" if number in numbers else "was removed from the source"
                    yield Difference(subject=subject, version=number, what=what)
                elif (number in before_deleted) != (number in deleted):
                    yield Difference(subject=subject, version=number, what="was soft-deleted or restored in the source")

    def _copy_all(self, versions: Sequence[SubjectVersion], report: ImportReport, readers: ThreadPoolExecutor) -> None:
        """Write the versions one by one, each after those that it refers to, while many are read ahead."""
        for start in range(0, len(versions), _AHEAD):
            chunk = versions[start : start + _AHEAD]
            self._from_source = dict(zip(chunk, readers.map(self._read_if_there, chunk), strict=True))
            self._from_target = dict(zip(chunk, readers.map(self._in_target, chunk), strict=True))
            for version in chunk:
                self._copy(version, report, ())

    def _copy(self, version: SubjectVersion, report: ImportReport, above: tuple[SubjectVersion, ...]) -> None:
        if version in self._copied:
            return
        if version in above or len(above) >= _MAX_DEPTH:
            raise DataProblem(f"{self._source.url}: {version} has circular or too many references.")
        content = self._from_source[version] if version in self._from_source else self._read_if_there(version)
        if content is None:
            return
        for reference in content.get("references") or ():
            referred = SubjectVersion(_resolve_subject(version.subject, reference["subject"]), reference["version"])
            self._copy(referred, report, (*above, version))
        self._copied.add(version)
        there = self._from_target[version] if version in self._from_target else self._in_target(version)
        if there is not None and there.get("id") == content["id"]:
            return
        subject = self._renamed(version.subject)
        self._import_mode(subject)
        body = self._body(version.subject, content) | {"id": content["id"], "version": version.number}
        try:
            self._target.request("POST", f"/subjects/{_quoted(subject)}/versions", dumps(body).encode())
            report.copied += 1
        except InvalidInput as error:
            self._refused[version] = error.message

    def _read(self, version: SubjectVersion) -> dict[str, Any]:
        answer = self._source.request("GET", f"/subjects/{_quoted(version.subject)}/versions/{version.number}?deleted=true")
        if (
            not isinstance(answer, dict)
            or type(answer.get("id")) is not int
            or not isinstance(answer.get("schema"), str)
            or not _are_references(answer.get("references"))
        ):
            raise EnvironmentProblem(f"{self._source.url}: {version} is not a schema.")
        return answer

    def _read_if_there(self, version: SubjectVersion) -> dict[str, Any] | None:
        """Return the version, or None if the source has deleted it since it was listed."""
        try:
            return self._read(version)
        except NotFound:
            return None

    def _in_target(self, version: SubjectVersion) -> dict[str, Any] | None:
        path = f"{self._target_path(version)}?deleted=true"
        try:
            answer: dict[str, Any] = self._target.request("GET", path)
        except NotFound:
            return None
        return answer

    def _target_path(self, version: SubjectVersion) -> str:
        return f"/subjects/{_quoted(self._renamed(version.subject))}/versions/{version.number}"

    def _body(self, subject: str, content: dict[str, Any]) -> dict[str, Any]:
        body = {name: content[name] for name in _KEPT if content.get(name)}
        if "references" in body:
            body["references"] = [
                {**reference, "subject": self._renamed(_resolve_subject(subject, reference["subject"]))}
                for reference in body["references"]
            ]
        return body

    def _subjects(self) -> list[str]:
        """Return all subjects, page by page: servers give up to 20,000 at once, and old ones have no paging."""
        subjects: dict[str, None] = {}
        while True:
            before = len(subjects)
            subjects.update(dict.fromkeys(self._list(f"/subjects?deleted=true&offset={before}", str)))
            if len(subjects) == before:
                return list(subjects)
            if len(subjects) > _MAX_SUBJECTS:
                raise EnvironmentProblem(f"{self._source.url} lists more than {_MAX_SUBJECTS:,} subjects.")

    def _numbers(self, subject: str) -> tuple[list[int], list[int]]:
        """Return all version numbers, and those of soft-deleted versions."""
        path = f"/subjects/{_quoted(subject)}/versions"
        everything = self._list(f"{path}?deleted=true", int)
        try:
            live = set(self._list(path, int))
        except NotFound:
            live = set()
        return everything, [number for number in everything if number not in live]

    def _level(self, subject: str, report: ImportReport) -> None:
        """Copy a subject's configuration, such as its compatibility level."""
        try:
            answer = self._source.request("GET", f"/config/{_quoted(subject)}")
        except NotFound:
            return
        settings = answer if isinstance(answer, dict) else {}
        path = f"/config/{_quoted(self._renamed(subject))}"
        try:
            there = self._target.request("GET", path)
        except NotFound:
            there = {}
        missing = {name: settings[name] for name in _SETTINGS if settings.get(name) not in (None, there.get(name))}
        if missing:
            members = {"compatibility" if name == _LEVEL else name: value for name, value in missing.items()}
            try:
                self._target.request("PUT", path, dumps(members).encode())
                report.levels += 1
            except InvalidInput as error:
                what = ", ".join(f"{name} {value}" for name, value in members.items())
                what = f"its configuration ({what[:500]}) was refused: {error.message}"
                report.differences.append(Difference(subject=subject, version=0, what=what))
        for name in _LOST:
            if settings.get(name):
                report.differences.append(Difference(subject=subject, version=0, what=f"its {name} cannot be copied."))

    def _delete(self, versions: Sequence[SubjectVersion], report: ImportReport) -> None:
        """Delete versions before those that they refer to: a refused one is tried again while others are deleted."""
        waiting = [version for version in versions if version not in self._refused]
        while waiting:
            refused: list[SubjectVersion] = []
            for version in waiting:
                try:
                    self._target.request("DELETE", self._target_path(version))
                    report.deleted += 1
                except NotFound:
                    continue
                except InvalidInput:
                    refused.append(version)
            if len(refused) == len(waiting):
                return
            waiting = refused

    def _compare(
        self, versions: dict[str, tuple[list[int], list[int]]], readers: ThreadPoolExecutor
    ) -> Iterator[Difference]:
        """Read every version of the target by its text, and compare its id, number and state."""
        for index, (subject, (numbers, deleted)) in enumerate(versions.items()):
            self._progress(subject, index, len(versions))
            soft_deleted = set(deleted)
            states = [(SubjectVersion(subject, number), number in soft_deleted) for number in numbers]
            differences = readers.map(lambda state: self._refused.get(state[0]) or self._difference(*state), states)
            for number, what in zip(numbers, differences, strict=True):
                if what is not None:
                    yield Difference(subject=subject, version=number, what=what)

    def _difference(self, version: SubjectVersion, deleted: bool) -> str | None:
        content = self._read_if_there(version)
        if content is None:
            return None  # reported already
        if content.get("ruleSet"):
            return "it has a ruleSet, which the target does not store"
        path = f"/subjects/{_quoted(self._renamed(version.subject))}"
        try:
            answer = self._target.request(
                "POST", f"{path}?deleted=true", dumps(self._body(version.subject, content)).encode()
            )
        except (NotFound, InvalidInput) as error:
            return f"not found by its text: {error.message}"
        if (answer.get("id"), answer.get("version")) != (content["id"], version.number):
            return f"id {content['id']} became id {answer.get('id')} version {answer.get('version')}"
        try:
            self._target.request("GET", f"{path}/versions/{version.number}")
        except NotFound:
            return None if deleted else "deleted in the target"
        return "deleted in the source, not in the target" if deleted else None

    def _mode(self, scope: str) -> None:
        """Remember the context's own mode."""
        if scope not in self._modes:
            try:
                self._modes[scope] = self._target.request("GET", f"/mode/{_quoted(scope)}")["mode"]
            except NotFound:
                self._modes[scope] = None

    def _import_mode(self, subject: str) -> None:
        """Set the mode of the context of ``subject`` to IMPORT; its own mode is restored at the end."""
        scope = _context_of(subject)
        self._mode(scope)
        if scope not in self._switched:
            self._switched.add(scope)
            self._target.request("PUT", f"/mode/{_quoted(scope)}?force=true", dumps({"mode": "IMPORT"}).encode())

    def _restore_modes(self) -> None:
        for scope, before in self._modes.items():
            path = f"/mode/{_quoted(scope)}"
            # IMPORT as a context's own mode was left by an import that was killed.
            if before == "IMPORT" or (before is None and scope in self._switched):
                self._target.request("DELETE", path)
            elif before is not None and scope in self._switched:
                self._target.request("PUT", f"{path}?force=true", dumps({"mode": before}).encode())

    def _renamed(self, subject: str) -> str:
        if self._context is None:
            return subject
        name = subject.removeprefix(":.:")
        return name if name.startswith(":.") else f":.{self._context}:{name}"

    def _list(self, path: str, item_type: type[T]) -> list[T]:
        answer = self._source.request("GET", path)
        if not isinstance(answer, list) or not all(type(element) is item_type for element in answer):
            raise EnvironmentProblem(f"{self._source.url}{path} did not answer with a list of {item_type.__name__}.")
        return answer


def _are_references(value: Any) -> bool:
    if value is None:
        return True
    return isinstance(value, list) and all(
        isinstance(reference, dict) and isinstance(reference.get("subject"), str) and type(reference.get("version")) is int
        for reference in value
    )


def _resolve_subject(subject: str, referenced: str) -> str:
    """Return a referenced subject's full name: without a context it is in that of the referring subject."""
    if referenced.startswith(":.") or not subject.startswith(":."):
        return referenced
    return _context_of(subject) + referenced


def _context_of(subject: str) -> str:
    if not subject.startswith(":."):
        return ":.:"
    return subject[: subject.index(":", 1) + 1]


def _quoted(text: str) -> str:
    return quote(text, safe="")

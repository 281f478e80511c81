"""What a pipeline does to its rows: masks, named steps, a query, columns, and expectations."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from penstock.errors import InvalidInput
from penstock.pipelines.sections import default
from penstock.settings.document import Section

__all__ = [
    "DeduplicateStep",
    "Expectation",
    "Mask",
    "MaskAction",
    "PythonStep",
    "SqlStep",
    "Step",
    "Transform",
    "WindowStep",
    "parse_transform",
]

MaskAction = Literal["hash", "redact", "partial", "null"]
OnFailure = Literal["warn", "quarantine", "fail"]
Late = Literal["dead-letter", "drop"]

_ACTIONS: tuple[MaskAction, ...] = ("hash", "redact", "partial", "null")
_FAILURES: tuple[OnFailure, ...] = ("warn", "quarantine", "fail")
_LATE: tuple[Late, ...] = ("dead-letter", "drop")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_DURATION = re.compile(
    r"\d+ (?:millisecond|second|minute|hour|day|week)s?(?: \d+ (?:millisecond|second|minute|hour|day|week)s?)*"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlStep:
    """``sql`` over the views ``records`` and those of the earlier steps."""

    kind: ClassVar[str] = "sql"

    name: str
    sql: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonStep:
    """A Python function over DataFrames, ``module:function``; the module is a file in ``folder``.

    ``source`` is the step whose rows it gets; None: those of the step before.
    """

    kind: ClassVar[str] = "python"

    name: str
    function: str
    source: str | None = None
    folder: Path = field(default_factory=Path)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeduplicateStep:
    """Of rows with the same ``keys`` the first one is kept, if the others come within ``watermark`` of event time."""

    kind: ClassVar[str] = "deduplicate"

    name: str
    keys: tuple[str, ...]
    time: str
    watermark: str
    late: Late = "dead-letter"
    source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowStep:
    """Aggregates over windows of event time, tumbling or (with ``slide``) sliding, each emitted once, when complete.

    A window is complete when an event ``watermark`` later than its end has been seen. ``by`` are columns or expressions
    that group besides; ``aggregates`` names SQL aggregates. The rows have ``window_start``, ``window_end``, ``by`` and
    the aggregates.
    """

    kind: ClassVar[str] = "window"

    name: str
    time: str
    size: str
    watermark: str
    aggregates: Mapping[str, str]
    slide: str | None = None
    by: tuple[str, ...] = ()
    late: Late = "dead-letter"
    source: str | None = None


Step = SqlStep | PythonStep | DeduplicateStep | WindowStep


@dataclass(frozen=True, slots=True, kw_only=True)
class Mask:
    """Fields whose values are hidden before any step: those with one of ``tags`` in the reader schema, and ``fields``.

    ``hash`` is HMAC-SHA-256 in hexadecimal under ``key`` (a text, or the value of the secret ``secret``), ``redact`` a fixed
    text, ``partial`` all but the last four characters, ``null`` nothing. ``fields`` are paths such as ``address.street``.
    """

    tags: Mapping[str, MaskAction] = field(default_factory=dict)
    fields: Mapping[str, MaskAction] = field(default_factory=dict)
    key: str | None = field(default=None, repr=False)
    secret: str | None = None

    def __post_init__(self) -> None:
        hashes = "hash" in self.tags.values() or "hash" in self.fields.values()
        if hashes and not (self.key or self.secret):
            raise InvalidInput(
                "Masking with 'hash' needs a key: without one, values could be found by trying.",
                remedy="Give 'key' as ${NAME}, or 'secret', an id in Secrets Manager.",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """A predicate over the transformed rows: on each row (``rows``), or an aggregate over the batch (``batch``).

    ``on_failure``: ``warn`` counts and logs, ``quarantine`` sends the row's record to the dead letters, ``fail`` stops the
    stream before the batch is committed. Null counts as a failure.
    """

    name: str
    rows: str | None = None
    batch: str | None = None
    on_failure: OnFailure = "warn"

    def __post_init__(self) -> None:
        if (self.rows is None) == (self.batch is None):
            raise InvalidInput(
                f"Expectation {self.name}: give one of 'rows' (a predicate on each row) and 'batch' (on aggregates)."
            )
        if self.batch is not None and self.on_failure == "quarantine":
            raise InvalidInput(
                f"Expectation {self.name}: a batch cannot be quarantined.", remedy="Use on_failure: warn or fail."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Transform:
    """First ``mask``, then ``steps`` in order, then ``sql``, then ``columns``; ``expect`` is about what comes out.

    ``sql`` is a query over the view ``records``, the decoded rows, and the views of the steps. Without it the last step's
    rows count. ``columns`` adds or replaces columns by SQL expressions, in order.
    """

    sql: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    mask: Mask | None = None
    expect: tuple[Expectation, ...] = ()

    def __post_init__(self) -> None:
        names = ["records"]
        for step in self.steps:
            if step.name in {*names, "rows"} or not _NAME.fullmatch(step.name):
                raise InvalidInput(
                    f"'{step.name}' is not a usable name of a step.",
                    remedy="Use letters, digits and '_', 64 at most; 'records', 'rows' and other steps' names are taken.",
                )
            source = getattr(step, "source", None)
            if source is not None and source not in names:
                raise InvalidInput(
                    f"Step {step.name}: there is no earlier step '{source}'.", remedy=f"Earlier ones: {', '.join(names)}."
                )
            names.append(step.name)

    @property
    def stateful(self) -> bool:
        """Return whether a step needs what earlier batches had."""
        return any(isinstance(step, DeduplicateStep | WindowStep) for step in self.steps)

    @property
    def quarantines(self) -> bool:
        """Return whether rows can become dead letters after decoding."""
        late = any(isinstance(step, DeduplicateStep | WindowStep) and step.late == "dead-letter" for step in self.steps)
        return late or any(expectation.on_failure == "quarantine" for expectation in self.expect)


def parse_transform(section: Section | None, folder: Path) -> Transform:
    """Return what a ``transform`` section declares; Python modules are files in ``folder``."""
    if section is None:
        return Transform()
    steps = section.section("steps")
    mask = section.section("mask")
    expect = section.section("expect", "expectations")
    members = {
        "sql": section.text("sql"),
        "columns": section.mapping("columns"),
        "steps": () if steps is None else tuple(_step(steps.required_section(name), name, folder) for name in steps.names()),
        "mask": None if mask is None else _mask(mask),
        "expect": () if expect is None else tuple(_expectation(expect, name) for name in expect.names()),
    }
    section.done()
    try:
        return Transform(**members)  # type: ignore[arg-type]
    except InvalidInput as error:
        raise section.fault(error.message.rstrip("."), key="steps", remedy=error.remedy) from None


def _step(section: Section, name: str, folder: Path) -> Step:
    source = section.text("from", "source")
    window, unique = section.section("window"), section.section("deduplicate")
    sql, function = section.text("sql"), section.text("python")
    section.done()
    if sum(item is not None for item in (window, unique, sql, function)) != 1:
        raise section.fault("a step is one of 'sql', 'python', 'deduplicate' and 'window'")
    if window is not None:
        return _window(window, name, source)
    if unique is not None:
        return _deduplicate(unique, name, source)
    if sql is not None:
        if source is not None:
            raise section.fault("'from' is for other steps: a query names its views", key="from")
        return SqlStep(name=name, sql=sql)
    assert function is not None
    if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", function):
        raise section.fault(f"'python' is '{function}'", key="python", remedy="Write it as MODULE:FUNCTION.")
    return PythonStep(name=name, function=function, source=source, folder=folder)


def _duration(section: Section, name: str) -> str:
    value = section.required(name)
    if not _DURATION.fullmatch(value.strip().lower()):
        raise section.fault(f"'{name}' is '{value}'", key=name, remedy="Write a duration such as 10 minutes.")
    return value.strip().lower()


def _window(section: Section, name: str, source: str | None) -> WindowStep:
    step = WindowStep(
        name=name,
        source=source,
        time=section.required("time"),
        size=_duration(section, "size"),
        slide=_duration(section, "slide") if section.has("slide") else None,
        watermark=_duration(section, "watermark"),
        by=section.texts("by"),
        aggregates=section.mapping("aggregates"),
        late=section.choice(_LATE, "late") or "dead-letter",
    )
    section.done()
    if not step.aggregates:
        raise section.fault("a window needs 'aggregates'", remedy="For example aggregates: {orders: count(*)}.")
    return step


def _deduplicate(section: Section, name: str, source: str | None) -> DeduplicateStep:
    step = DeduplicateStep(
        name=name,
        source=source,
        keys=section.texts("keys"),
        time=section.required("time"),
        watermark=_duration(section, "watermark"),
        late=section.choice(_LATE, "late") or "dead-letter",
    )
    section.done()
    if not step.keys:
        raise section.fault("'keys' is missing", key="keys")
    return step


def _mask(section: Section) -> Mask:
    tags, fields = _actions(section, "tags"), _actions(section, "fields")
    key, secret = section.text("key"), section.text("secret", "secretId")
    section.done()
    try:
        return Mask(tags=tags, fields=fields, key=key, secret=secret)
    except InvalidInput as error:
        raise section.fault(error.message.rstrip("."), remedy=error.remedy) from None


def _actions(section: Section, name: str) -> dict[str, MaskAction]:
    inner = section.section(name)
    if inner is None:
        return {}
    # YAML reads a bare null as nothing.
    return {item: default(inner.choice(_ACTIONS, item), "null") for item in inner.names()}


def _expectation(expect: Section, name: str) -> Expectation:
    section = expect.required_section(name)
    members = {
        "rows": section.text("rows"),
        "batch": section.text("batch"),
        "on_failure": section.choice(_FAILURES, "on_failure", "onFailure") or "warn",
    }
    section.done()
    try:
        return Expectation(name=name, **members)  # type: ignore[arg-type]
    except InvalidInput as error:
        raise section.fault(error.message.rstrip("."), remedy=error.remedy) from None

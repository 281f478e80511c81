"""What all sinks declare: a name, a query over the batch's rows, and what a row does to the table."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from penstock.errors import InvalidInput
from penstock.pipelines.evolution import Evolution, evolution
from penstock.settings.document import Section

__all__ = ["ChangeCapture", "Guarantee", "SinkSettings", "WriteMode", "sink_settings"]

WriteMode = Literal["append", "upsert", "cdc"]
Guarantee = Literal["exactly once", "at least once"]

_MODES: tuple[WriteMode, ...] = ("append", "upsert", "cdc")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeCapture:
    """How rows say that they insert, update or delete.

    ``envelope`` ``debezium``: rows have ``op``, ``before`` and ``after``, as Debezium writes them
    (https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-change-events-overview).
    ``column``: ``operation`` is a column whose values in ``deletes`` delete; all others insert or update.
    """

    envelope: Literal["column", "debezium"]
    operation: str = "op"
    deletes: tuple[str, ...] = ("d",)


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkSettings:
    """Base of all sinks.

    ``name`` is unique in the pipeline, and names the sink in accounts and markers: keep it. ``sql`` is a SELECT over the
    view ``rows``, the batch's transformed rows; None writes them as they are. ``mode``: ``append`` adds every row;
    ``upsert`` replaces the row with the same ``keys``; ``cdc`` inserts, updates and deletes by ``keys`` as ``changes``
    says. Of several rows with the same keys the last one counts: by ``order_by`` if given, else in the source's order.
    ``evolution``: what new schema versions may do to the table.
    """

    kind: ClassVar[str] = ""
    modes: ClassVar[tuple[WriteMode, ...]] = ("append",)
    """The modes that this kind of sink can write."""
    guarantee: ClassVar[Guarantee] = "exactly once"

    name: str = "sink"
    sql: str | None = None
    mode: WriteMode = "append"
    keys: tuple[str, ...] = ()
    order_by: tuple[str, ...] = ()
    changes: ChangeCapture | None = field(default=None)
    evolution: Evolution = field(default_factory=Evolution)

    def __post_init__(self) -> None:
        if self.mode not in self.modes:
            can = ", ".join(self.modes)
            raise InvalidInput(
                f"Sink {self.name}: {self.kind} cannot be written in mode {self.mode}.", remedy=f"Its modes: {can}."
            )
        if self.mode != "append" and not self.keys:
            raise InvalidInput(f"Sink {self.name}: mode {self.mode} needs 'keys', the columns that identify a row.")
        if self.mode == "append" and (self.keys or self.order_by):
            raise InvalidInput(
                f"Sink {self.name}: 'keys' and 'order_by' have no effect in mode append.",
                remedy="Remove them, or set mode to upsert.",
            )
        if (self.mode == "cdc") != (self.changes is not None):
            raise InvalidInput(f"Sink {self.name}: mode cdc goes with 'changes', and only it does.")

    @property
    def locations(self) -> tuple[str, ...]:
        """Return the folders of the lake, or URIs, that the sink writes to; for separation and access checks."""
        return ()

    @property
    def description(self) -> str:
        """Return the sink in a few words, for messages."""
        return self.kind


def sink_settings(section: Section, name: str) -> dict[str, Any]:
    """Return the arguments of :class:`SinkSettings` from a sink's section."""
    changes = section.section("changes")
    settings: dict[str, Any] = {
        "name": name,
        "sql": section.text("sql"),
        "keys": section.texts("keys"),
        "order_by": section.texts("order_by"),
        "changes": None if changes is None else _changes(changes),
        "evolution": evolution(section),
    }
    return {**settings, "mode": section.choice(_MODES, "mode") or ("append" if settings["changes"] is None else "cdc")}


def _changes(section: Section) -> ChangeCapture:
    envelope = section.choice(("column", "debezium"), "envelope") or "column"
    capture = ChangeCapture(
        envelope="debezium" if envelope == "debezium" else "column",
        operation=section.text("operation") or "op",
        deletes=section.texts("deletes") or ("d",),
    )
    section.done()
    return capture

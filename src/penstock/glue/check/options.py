"""What becomes of options that a script has as literal dictionaries and keywords, by the table that counts at run time."""

from collections.abc import Iterator, Sequence

from penstock.glue.check.findings import Finding
from penstock.glue.check.uses import Call
from penstock.glue.check.values import Entries
from penstock.glue.library.connection_options import READS, TABLE_READS, TABLE_WRITES, WRITES
from penstock.glue.library.format_options import FORMATS
from penstock.glue.library.options import outcome_of, row_of

__all__ = ["is_write", "option_findings"]

_PURGES = {"purge_table", "purge_s3_path"}
_STREAMS = ("kafka", "kinesis")


def is_write(call: Call) -> bool:
    """Return whether a call is of a method that writes."""
    return call.name.startswith(("write", "getSink", "DataSink"))


def option_findings(call: Call, *, sure: bool) -> Iterator[Finding]:
    """Yield what is refused and what is ignored of a call's options, each at its line."""
    for argument, owners in _owners(call):
        values = call.arguments.get(argument, ())
        for entries in values:
            if isinstance(entries, Entries):
                certain = sure and entries.literal and len(values) == 1
                for name, value, line in entries.items:
                    yield from _finding(owners, name, value, line, sure=certain)


def _owners(call: Call) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the arguments that have options, and whose they may be: one owner where the script's text tells it."""
    types = WRITES if is_write(call) else READS
    connection_type = (call.text("connection_type") or "").strip().lower()
    if connection_type in types:
        yield "connection_options", [types[connection_type][0]]
        if call.name.startswith("get"):
            yield "options", [types[connection_type][0]]
    form = (call.text("format") or connection_type).strip().lower()
    if form in FORMATS:
        yield "format_options", [f"the format {form}"]
        if call.name.endswith(".setFormat"):
            yield "options", [f"the format {form}"]
    if call.name.endswith("_from_catalog"):
        of_tables = TABLE_WRITES if is_write(call) else TABLE_READS
        yield "additional_options", [*of_tables, *(types[stream][0] for stream in ("dynamodb", *_STREAMS))]
    if call.name.endswith("_from_jdbc_conf"):
        yield "connection_options", [owner for owner, rows in WRITES.values() if "preactions" in rows]
    if call.name == "forEachBatch":
        yield "options", ["forEachBatch"]
    if call.name in _PURGES:
        yield "options", ["the purge"]


def _finding(owners: Sequence[str], name: str, value: str | None, line: int, *, sure: bool) -> Iterator[Finding]:
    """Yield what the owners agree on: an option that one of them serves may be meant for it."""
    outcomes = {owner: outcome_of(owner, name, value) for owner in owners}
    by_status = {result.status: (owner, result) for owner, result in reversed(outcomes.items())}
    owner, outcome = next(
        by_status[result] for result in ("served", "no effect", "refused", "unknown") if result in by_status
    )
    alone = len(owners) == 1
    shown = f'option "{name}" of {owner}' if alone else f'option "{name}"'
    if outcome.status == "refused" or (outcome.status == "unknown" and owner == "the purge"):
        row = row_of(owner, name)
        decided = value is not None or row is None or not row.harmless
        note = outcome.note or "It does not have this option."
        yield Finding(line=line, status="refused", name=shown, note=note, sure=sure and decided and alone)
    elif outcome.status == "unknown":
        note = f"AWS does not document it, and ignores it, too. {outcome.note}".strip()
        yield Finding(line=line, status="ignored", name=shown, note=note)
    elif outcome.status == "no effect" and alone:
        yield Finding(line=line, status="ignored", name=shown, note=f"It has no effect here: {outcome.note}")

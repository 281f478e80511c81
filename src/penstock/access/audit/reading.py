"""Reads the audit log: events that match, lines that were not exported yet, and lines that were changed or removed."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from penstock.access.audit.segments import segments_in

__all__ = ["Position", "Wanted", "broken_chains", "matching", "unexported"]

Position = Mapping[str, int]
"""The number of exported bytes of each file, by its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A filter of events; an empty string matches all. ``since`` has the form of ``eventTime``."""

    event_name: str = ""
    source: str = ""
    principal: str = ""
    decision: str = ""
    resource: str = ""
    since: str = ""

    def matches(self, record: Mapping[str, Any]) -> bool:
        """Return whether an event matches."""
        identity = record["userIdentity"]
        return (
            self.event_name in {"", record["eventName"]}
            and self.source in {"", record["eventSource"], record["eventSource"].partition(".")[0]}
            and (not self.principal or self.principal in (identity.get("arn") or identity.get("accessKeyId") or ""))
            and self.decision in {"", record["additionalEventData"]["decision"]}
            and (not self.resource or any(self.resource in resource["ARN"] for resource in record["resources"]))
            and record["eventTime"] >= self.since
        )


def matching(folder: Path, query: Wanted, count: int) -> list[Mapping[str, Any]]:
    """Return the newest ``count`` events that match, the newest first. Reads file by file, the newest file first."""
    newest: list[Mapping[str, Any]] = []
    for file in reversed(list(segments_in(folder))):
        if len(newest) >= count and newest[count - 1]["eventTime"] > _last_time(file):
            break
        with file.open("rb") as lines:
            own = [record for line in lines if line.endswith(b"\n") and query.matches(record := orjson.loads(line))]
        newest = sorted([*newest, *own[-count:]], key=lambda record: str(record["eventTime"]), reverse=True)[:count]
    return newest


def unexported(folder: Path, position: Position) -> Iterator[tuple[bytes, str, int]]:
    """Yield lines after ``position``, in the order of files: the line without newline, its file's name, its end in bytes."""
    for file in segments_in(folder):
        end = position.get(file.name, 0)
        with file.open("rb") as lines:
            lines.seek(end)
            for line in lines:
                if not line.endswith(b"\n"):
                    break  # being written
                end += len(line)
                yield line[:-1], file.name, end


def broken_chains(folder: Path) -> list[str]:
    """Return ``FILE:LINE`` of each line whose digest is not that of the line before; empty if no line was changed.

    A file's first line follows the last line of another file, unless the retention removed that file.
    """
    broken: list[str] = []
    for file in segments_in(folder):
        previous: str | None = None
        with file.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.endswith(b"\n"):
                    break
                if previous is not None and _previous(line) != previous:
                    broken.append(f"{file.name}:{number}")
                previous = hashlib.sha256(line[:-1]).hexdigest()
    return broken


def _previous(line: bytes) -> str:
    try:
        return str(orjson.loads(line)["additionalEventData"]["previousDigest"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return "unreadable"


def _last_time(file: Path) -> str:
    last = ""
    with file.open("rb") as lines:
        for line in lines:
            if line.endswith(b"\n"):
                last = line.decode()
    return str(orjson.loads(last)["eventTime"]) if last else ""

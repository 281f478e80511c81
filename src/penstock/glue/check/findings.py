"""The result of a check: each use of a name with its line, and what became of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Finding", "Report"]

Status = Literal["served", "differs", "refused", "ignored", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One use. ``note`` says how a served name differs, or what to write instead of a refused one.

    A refused use that is ``sure`` is reached by every run of the script; others may be in a branch that is not taken.
    One that is not ``called`` is in a function that nothing in the script calls: a warning.
    ``ignored`` are options that change nothing, ``unknown`` names that AWS's classes do not have either.
    """

    line: int
    status: Status
    name: str
    note: str = ""
    sure: bool = False
    called: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All findings of a script, by line. ``arguments`` are those that it requires, each with its line."""

    script: str
    findings: Sequence[Finding]
    arguments: Sequence[tuple[str, int]] = ()
    place: Callable[[int], tuple[int, int]] | None = None
    """Of a notebook, the number of the cell that has a line, and the line in it."""

    @property
    def failing(self) -> Sequence[Finding]:
        """The refused uses that a run may reach."""
        return [finding for finding in self.of_status("refused") if finding.called]

    def where(self, line: int) -> str:
        """Return how people find a line."""
        if self.place is None:
            return f"line {line}"
        cell, inside = self.place(line)
        return f"cell {cell}, line {inside}"

    def of_status(self, status: Status) -> Sequence[Finding]:
        """Return the findings of one status."""
        return [finding for finding in self.findings if finding.status == status]

    @property
    def stops(self) -> Sequence[Finding]:
        """The uses by which every run fails."""
        return [finding for finding in self.of_status("refused") if finding.sure]

    def document(self) -> dict[str, Any]:
        """Return the report as JSON: lists of uses by status, and the arguments."""
        statuses: tuple[Status, ...] = ("refused", "differs", "ignored", "unknown", "served")
        uses: dict[str, Any] = {
            status: [self._document(finding) for finding in self.of_status(status)] for status in statuses
        }
        return {"script": self.script, **uses, "arguments": [{"name": name, "line": line} for name, line in self.arguments]}

    def text(self) -> str:
        """Return the report for people: what is refused first."""
        refused, differing = self.failing, self.of_status("differs")
        uncalled = [finding for finding in self.of_status("refused") if not finding.called]
        ignored, unknown, served = self.of_status("ignored"), self.of_status("unknown"), self.of_status("served")
        lines = [f"{self.script}: {len(refused)} refused, {len(differing)} different from AWS, {len(served)} served"]
        parts = {
            "Refused": refused,
            "Refused, in functions that nothing calls": uncalled,
            "Different from AWS": differing,
            "Ignored": ignored,
            "Not of AWS's library": unknown,
        }
        for title, findings in parts.items():
            if findings:
                lines += ["", f"{title}:", *(f"  {self.where(finding.line)}: {_sentence(finding)}" for finding in findings)]
        if served:
            names: dict[str, list[int]] = {}
            for finding in served:
                names.setdefault(finding.name, []).append(finding.line)
            shown = (f"{name} ({', '.join(str(line) for line in sorted(set(at)))})" for name, at in sorted(names.items()))
            lines += ["", f"Served, with their lines: {', '.join(shown)}"]
        if self.arguments:
            lines += ["", f"Arguments that it needs: {' '.join(f'--{name}' for name, _ in self.arguments)}"]
        return "\n".join(lines)

    def _document(self, finding: Finding) -> dict[str, Any]:
        entry: dict[str, Any] = {"line": finding.line, "name": finding.name}
        if self.place is not None:
            entry["cell"], entry["line"] = self.place(finding.line)
        if finding.note:
            entry["note"] = finding.note
        if finding.status == "refused":
            entry["sure"] = finding.sure
            if not finding.called:
                entry["called"] = False
        return entry


def _sentence(finding: Finding) -> str:
    return f"{finding.name}: {finding.note}" if finding.note else finding.name

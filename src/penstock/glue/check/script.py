"""Checks one script: its text is parsed, read and evaluated."""

import ast
import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from penstock.errors import InvalidInput
from penstock.glue.check.evaluation import ScriptModules, find_outcomes
from penstock.glue.check.findings import Finding, Report
from penstock.glue.check.notebooks import read_notebook
from penstock.glue.check.reading import read
from penstock.glue.check.unconditional import reached, uncalled_lines

__all__ = ["check_script", "check_text", "refuse_sure"]

_MAX_BYTES = 1_000_000
_PYTHON_2 = re.compile(
    r"^\s*(print\s+[^\s(=.]|exec\s+['\"]|raise\s+\w+\s*,|except\s+[\w.]+\s*,\s*\w+\s*:)|`|<>|\b0\d+\b|\d+[lL]\b|\bur['\"]"
)
_MAGIC = "It belongs to the notebook, not to a job: give its setting to the session or to the job."
_OPTIONAL = {"TempDir", "RedshiftTempDir"}


def check_script(path: Path, *, extra_files: Sequence[str] = ()) -> Report:
    """Return what the script or the notebook at ``path`` uses. ``extra_files`` are those of ``--extra-py-files``.

    Raises :class:`InvalidInput` if it cannot be read, or has more than a million bytes.
    """
    try:
        with path.open("rb") as file:
            source = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"The script {path} cannot be read: {error.strerror}.") from None
    folder = path.absolute().parent
    if path.suffix.lower() != ".ipynb":
        return check_text(source, name=str(path), modules=ScriptModules.of(folder, extra_files))
    _check_size(source, str(path))
    notebook = read_notebook(source, str(path))
    modules = ScriptModules.of(folder, [*extra_files, *notebook.extra_files], packages=notebook.packages)
    report = check_text(notebook.text.encode(), name=str(path), modules=modules)
    magics = [Finding(line=line, status="ignored", name=name, note=_MAGIC) for name, line in notebook.magics]
    findings = sorted([*report.findings, *magics], key=lambda finding: finding.line)
    return replace(report, findings=findings, place=notebook.place)


def check_text(source: bytes, *, name: str, modules: ScriptModules | None = None) -> Report:
    """Return what a script uses, by its text. Raises :class:`InvalidInput` for one that is too large or too deep."""
    _check_size(source, name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
        uses = read(tree)
        certain, uncalled = reached(tree), uncalled_lines(tree)
    except SyntaxError as error:
        return Report(script=name, findings=[_unparsed(error)])
    except (RecursionError, MemoryError):
        raise InvalidInput(f"The expressions of the script {name} are nested too deeply to be checked.") from None
    except ValueError as error:
        raise InvalidInput(f"The script {name} is not Python: {error}.") from None
    arguments = [(argument, line) for argument, (line, node) in uses.arguments.items() if node in certain]
    findings = find_outcomes(uses, certain, modules or ScriptModules())
    return Report(
        script=name,
        findings=[
            replace(finding, called=False, sure=False) if finding.line in uncalled else finding for finding in findings
        ],
        arguments=[argument for argument in arguments if argument[0] not in _OPTIONAL],
    )


def _check_size(source: bytes, name: str) -> None:
    if len(source) > _MAX_BYTES:
        raise InvalidInput(f"The script {name} has more than {_MAX_BYTES:,} bytes.", remedy="Give the job's own script.")


def refuse_sure(report: Report, arguments: Sequence[str]) -> None:
    """Raise :class:`InvalidInput` if every run of the script with these ``arguments`` fails, with each cause's line."""
    passed = {argument[2:].partition("=")[0] for argument in arguments if argument.startswith("--")}
    # A name may be abbreviated.
    lacking = [
        (name, line)
        for name, line in report.arguments
        if not any(argument and name.startswith(argument) for argument in passed)
    ]
    causes = [
        *(f"line {stop.line}: {stop.name}: {stop.note}" for stop in report.stops),
        *(f"line {line}: the script needs the argument --{name}." for name, line in lacking),
    ]
    if causes:
        raise InvalidInput(
            f"{report.script} was not started, because it cannot succeed:\n  " + "\n  ".join(causes),
            remedy="'penstock glue check' shows all that it uses; --unchecked starts it all the same.",
        )


def _unparsed(error: SyntaxError) -> Finding:
    line, text = error.lineno or 1, (error.text or "").rstrip()
    if text.lstrip().startswith(("%", "!")):
        what, note = "a notebook's magic", "It is not Python: export the notebook as a script, or check the .ipynb itself."
    elif "Missing parentheses in call to" in error.msg or _PYTHON_2.search(text):
        what, note = "Python 2", f"Glue has Python 3 alone since its version 2.0. {_sentence(error.msg)}"
    else:
        what, note = "a syntax error", _sentence(error.msg)
    return Finding(line=line, status="refused", name=what, note=note, sure=True)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."

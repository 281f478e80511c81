"""Notebooks as scripts: the code of their cells in order, their magics left out, and what those say of the session.

Sources: nbformat's version 4; "Configuring AWS Glue interactive sessions", whose magics are ``%idle_timeout`` and others.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import InvalidInput

__all__ = ["Notebook", "read_notebook"]

_LINE_MAGIC = re.compile(r"\s*(?:[\w, ]+=\s*)?(%{1,2}|!)(\w+)[ \t]*(.*)")
_FILES = {"extra_py_files", "--extra-py-files"}
_PACKAGES = {"additional_python_modules", "--additional-python-modules"}


@dataclass(slots=True)
class Notebook:
    """``text`` is a script of the cells, ``cells`` the line (from 1) where the code of each cell begins, by its number.

    ``extra_files`` and ``packages`` are those that magics name, ``magics`` their names with their lines.
    """

    text: str = ""
    cells: dict[int, int] = field(default_factory=dict)
    extra_files: list[str] = field(default_factory=list)
    packages: list[str] = field(default_factory=list)
    magics: list[tuple[str, int]] = field(default_factory=list)

    def place(self, line: int) -> tuple[int, int]:
        """Return the number of the cell (from 1) that has a line of ``text``, and the line in it."""
        cell, first = max((pair for pair in self.cells.items() if pair[1] <= line), key=lambda pair: pair[1], default=(1, 1))
        return cell, line - first + 1


def read_notebook(source: bytes, name: str) -> Notebook:
    """Return the cells of a notebook. Raises :class:`InvalidInput` for a document that is not a notebook."""
    try:
        cells = json.loads(source)["cells"]
        texts = [(number, _text(cell)) for number, cell in enumerate(cells, 1) if cell.get("cell_type") == "code"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidInput(
            f"{name} is not a notebook of version 4 ({type(error).__name__}).", remedy="Save it again, or give a script."
        ) from None
    notebook, lines = Notebook(), list[str]()
    for number, text in texts:
        notebook.cells[number] = len(lines) + 1
        lines += _code(notebook, text.split("\n"), len(lines) + 1)
    notebook.text = "\n".join(lines) + "\n"
    return notebook


def _text(cell: Any) -> str:
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def _code(notebook: Notebook, lines: Sequence[str], first: int) -> list[str]:
    """Return the lines of a cell with an empty one for each magic; a cell's magic leaves no code."""
    begin = next((at for at, line in enumerate(lines) if line.strip()), None)
    whole = _LINE_MAGIC.match(lines[begin]) if begin is not None else None
    if begin is not None and whole is not None and whole[1] == "%%":
        notebook.magics.append((f"%%{whole[2]}", first + begin))
        if whole[2] == "configure":
            _configure(notebook, "\n".join(lines[begin + 1 :]))
        return [""] * len(lines)
    code = []
    for at, line in enumerate(lines):
        magic = _LINE_MAGIC.match(line)
        if magic is None or magic.start(1) < 0 or not line.lstrip().startswith(("%", "!")):
            code.append(line)
            continue
        notebook.magics.append((f"{magic[1]}{magic[2]}", first + at))
        _add_setting(notebook, magic[2], magic[3])
        # What is indented is a statement of a block.
        indent = line[: len(line) - len(line.lstrip())]
        code.append(f"{indent}pass" if indent else "")
    return code


def _configure(notebook: Notebook, text: str) -> None:
    try:
        settings = json.loads(text)
    except ValueError:
        return
    for name, value in settings.items() if isinstance(settings, dict) else ():
        _add_setting(notebook, str(name), str(value))


def _add_setting(notebook: Notebook, name: str, value: str) -> None:
    listed = [part.strip().strip("'\"") for part in value.split(",") if part.strip()]
    if name in _FILES:
        notebook.extra_files += listed
    elif name in _PACKAGES:
        notebook.packages += listed

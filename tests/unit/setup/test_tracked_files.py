"""No tracked file names a machine, a registry or a secret, and none is longer than a reader can hold."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LONGEST = 600  # lines

# Written in pieces, so that this file does not hold what it looks for.
FORBIDDEN = {
    "a path of one machine": r"/" + r"(?:root|work/main|tmp/r\d|home/[a-z]+)/",
    "a registry's host": r"(?:pypi|pythonhosted|maven|npmjs|crates|jfrog|artifactory)[\w-]*\."
    + r"(?:org|com|io|apache|net)\b",
    "a Maven repository's host": r"repo\d?\." + r"(?:maven|spring|apache)",
    "an address with a password": r"https?://[^\s/:@\"'{}<>$]+:" + r"[^\s/@\"'{}<>$]+@",
    "a private key": r"-----BEGIN [A-Z ]*" + r"PRIVATE KEY-----",
    "an AWS key": r"\b(?:AKIA|ASIA)" + r"(?![A-Z2-7]*(?:TEST|EXAMPLE))[A-Z2-7]{16}\b",
    "a token": r"\b(?:gh[pousr]_|glpat-|xox[bp]-)" + r"[A-Za-z0-9_-]{16,}",
}


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_tracked_file_holds(what: str) -> None:
    pattern = re.compile(FORBIDDEN[what])
    results = [
        f"{path.relative_to(ROOT)}:{number}: {match[0]}"
        for path in tracked()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1)
        if (match := pattern.search(line))
    ]
    assert results == []


def generated(path: Path) -> bool:
    """Whether a program writes the file, and another test compares it with what that program says."""
    return path.parts[0] == "locks" or path.name.endswith(".schema.json") or path.parts[:2] == ("docs", "api")


def test_no_tracked_file_is_too_long() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in tracked()
        if not generated(path.relative_to(ROOT)) and (lines := len(path.read_bytes().splitlines())) > LONGEST
    }
    assert long == {}


def test_no_tracked_file_is_large() -> None:
    assert {str(path.relative_to(ROOT)): size for path in tracked() if (size := path.stat().st_size) > 500_000} == {}

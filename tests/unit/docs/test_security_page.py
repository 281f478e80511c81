"""The page on security names tests that exist, and all modules that read what comes from outside."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/operations/security.md").read_text()
SOURCE = ROOT / "src/penstock"
# Programs of users, which read what they choose, and those that tests run.
ELSEWHERE = ("cli", "client", "demo", "glue", "local", "produce", "spark", "testing")
READERS = re.compile(
    r"\b(?:orjson|json)\.loads?\(|\bread_json\(|decompressobj|gzip\.(?:open|decompress)|bz2\.open|open_packed\(|XMLParser\("
    r"|fastavro\.(?:block_reader|reader|schemaless_reader|parse_schema)|pickle\.loads?\(|yaml\.\w*load|linear_matcher\("
    r"|\bPattern\(|re2\.compile|regex\.compile|parse_qsl\(|sqlglot\.(?:parse|tokenize)|AvroBlocks\(|\bread_rows\("
    r"|ParquetFile\(|ORCFile\(|TBinaryProtocol"
)


def modules() -> set[str]:
    found = set()
    for file in SOURCE.rglob("*.py"):
        name = file.relative_to(SOURCE).with_suffix("").as_posix().replace("/", ".")
        if name.partition(".")[0] not in ELSEWHERE and READERS.search(file.read_text()):
            found.add(name)
    return found


def named(below: str = "") -> set[str]:
    section = PAGE[PAGE.index("## Where bytes from outside are read") : PAGE.index("## How to report")]
    return {each for each in re.findall(r"`([a-z_0-9.]+)`", section) if each.startswith(below)}


def test_each_module_that_reads_what_comes_from_outside_is_on_the_page() -> None:
    listed = named()
    assert sorted(each for each in modules() if each not in listed and not each.startswith("store.sql.")) == []


def test_each_module_on_the_page_exists() -> None:
    packages = {each.name for each in SOURCE.iterdir()} | {each.stem for each in SOURCE.glob("*.py")}
    places = {each for each in named() if each.partition(".")[0] in packages}
    gone = [each for each in places if not list(SOURCE.glob(f"{each.replace('.', '/')}*"))]
    assert gone == []


@pytest.mark.parametrize("given", sorted(set(re.findall(r"`((?:tests/[\w/]+/)?(?:test_\w+\.py)?(?:::\w+)?)`", PAGE)) - {""}))
def test_each_test_on_the_page_exists(given: str) -> None:
    file, _, function = given.partition("::")
    found = [ROOT / file] if file.startswith("tests/") else list((ROOT / "tests").rglob(file))
    assert found, given
    assert all(each.exists() for each in found), given
    if function:
        tree = ast.parse(found[0].read_text())
        assert function in {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}

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
    result = set()
    for file in SOURCE.rglob("*.py"):
        name = file.relative_to(SOURCE).with_suffix("").as_posix().replace("/", ".")
        if name.partition(".")[0] not in ELSEWHERE and READERS.search(file.read_text()):
            result.add(name)
    return result


def named(below: str = "") -> set[str]:
    section = PAGE[PAGE.index("## Where bytes from outside are read") : PAGE.index("## How to report")]
    return {item for item in re.findall(r"`([a-z_0-9.]+)`", section) if item.startswith(below)}


def test_each_module_that_reads_what_comes_from_outside_is_on_the_page() -> None:
    listed = named()
    assert sorted(module for module in modules() if module not in listed and not module.startswith("store.sql.")) == []


def test_each_module_on_the_page_exists() -> None:
    packages = {path.name for path in SOURCE.iterdir()} | {path.stem for path in SOURCE.glob("*.py")}
    places = {name for name in named() if name.partition(".")[0] in packages}
    gone = [place for place in places if not list(SOURCE.glob(f"{place.replace('.', '/')}*"))]
    assert gone == []


@pytest.mark.parametrize("given", sorted(set(re.findall(r"`((?:tests/[\w/]+/)?(?:test_\w+\.py)?(?:::\w+)?)`", PAGE)) - {""}))
def test_each_test_on_the_page_exists(given: str) -> None:
    file, _, function = given.partition("::")
    paths = [ROOT / file] if file.startswith("tests/") else list((ROOT / "tests").rglob(file))
    assert paths, given
    assert all(path.exists() for path in paths), given
    if function:
        tree = ast.parse(paths[0].read_text())
        assert function in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}

"""What is changed of pyspark's own objects is what the table of patches lists, and the page on the architecture names it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.glue.patches.table import PATCHES

PAGE = Path(__file__).parents[3] / "docs/architecture.md"

PATCHED = """
import importlib, inspect, json, pkgutil, sys
import pyspark, pyspark.sql, pyspark.sql.streaming.query
from penstock.glue.patches.table import PATCHES, apply_patches

def members():
    classes = {
        found for name, module in list(sys.modules.items()) if name.startswith("pyspark")
        for found in vars(module).values() if inspect.isclass(found) and found.__module__.startswith("pyspark")
    }
    classes |= {inner for owner in classes for inner in vars(owner).values() if inspect.isclass(inner)}
    return {(owner, name): value for owner in classes for name, value in vars(owner).items() if inspect.isfunction(value)}

before = members()
for patch in PATCHES:
    patch.apply()
apply_patches()
after = members()
print(json.dumps(sorted({f"{owner.__qualname__}.{name}" for (owner, name), value in after.items()
    if before.get((owner, name)) is not value})))
"""


@pytest.fixture(scope="module")
def changed() -> set[str]:
    done = subprocess.run([sys.executable, "-c", PATCHED], capture_output=True, text=True, check=True)
    names: list[str] = json.loads(done.stdout)
    return {re.sub(r"\.gs_\w+$", ".gs_*", name.removeprefix("SparkSession.")) for name in names}


def test_nothing_else_of_pyspark_is_changed(changed: set[str]) -> None:
    assert changed == {name for patch in PATCHES for name in patch.names}


def test_the_page_names_every_patch() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## Changes of pyspark")[2].partition("\n## ")[0]
    classes = {name.partition(".")[0] for patch in PATCHES for name in patch.names}
    assert set(re.findall(r"`([A-Z]\w+)\.[\w*]+`", section)) == classes

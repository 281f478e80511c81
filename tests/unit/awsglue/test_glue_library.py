"""The table of Glue's library against the real attributes: what it calls served exists, what it refuses raises."""

import inspect
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from types import new_class
from typing import Any

import pytest

import awsglue.transforms
from awsglue.context import GlueContext
from awsglue.dynamicframe import DynamicFrame, DynamicFrameCollection
from awsglue.job import Job
from awsglue.transforms import GlueTransform
from penstock.glue.check.signatures import served_class
from penstock.glue.errors import NotSupported, Refused
from penstock.glue.library.rows import Row
from penstock.glue.library.table import ROWS

# Attributes of an object, which a class without one does not show.
INSTANCE = {
    "spark_session",
    "create_data_frame",
    "create_dynamic_frame",
    "write_dynamic_frame",
    "write_data_frame",
    "name",
    "glue_ctx",
}
CLASSES: dict[str, Any] = {
    item.__name__: item for item in (GlueContext, DynamicFrame, DynamicFrameCollection, GlueTransform, Job)
}


def attribute(row: Row) -> Any:
    module = import_module(row.module)
    if not row.owner:
        return getattr(module, "anything" if row.name == "*" else row.name)
    return getattr(getattr(module, row.owner), row.name)


def test_each_name_has_one_row_and_each_difference_a_note() -> None:
    keys = [(row.module, row.owner, row.name) for row in ROWS]
    assert sorted(keys) == sorted(set(keys))
    assert [row for row in ROWS if (row.note == "") != (row.status == "served")] == []
    assert [row for row in ROWS if row.note and not row.note.endswith((".", ")"))] == []


@pytest.mark.parametrize("row", [row for row in ROWS if row.status != "refused"], ids=lambda row: row.shown)
def test_a_served_name_is_there(row: Row) -> None:
    if row.name not in INSTANCE:
        assert not isinstance(attribute(row), Refused)


@pytest.mark.parametrize("row", [row for row in ROWS if row.status == "refused"], ids=lambda row: row.shown)
def test_a_refused_name_is_imported_and_raises_at_its_use(row: Row) -> None:
    if row.owner:
        owner = CLASSES[row.owner]
        with pytest.raises(NotSupported, match=rf"{row.owner}\..* of AWS Glue's library is not supported") as error:
            getattr(owner.__new__(owner), row.name)()
        assert error.value.remedy
        assert error.value.remedy.startswith(row.note)
        return
    name = attribute(row)
    assert isinstance(name, Refused), "it is served: give its row another status"
    uses: list[Callable[[], object]] = [name, lambda: name.apply, lambda: new_class("Own", (name,))]
    for use in uses:
        with pytest.raises(NotSupported) as error:
            use()
        assert error.value.remedy == row.note


def test_every_public_name_has_a_row() -> None:
    rows = {(row.module, row.owner, row.name) for row in ROWS}
    for owner in CLASSES.values():
        module = next(row.module for row in ROWS if row.name == owner.__name__ and not row.owner)
        # Glue Studio's transforms are methods, too, once one of their modules is imported.
        public = {(module, owner.__name__, name) for name in vars(owner) if not name.startswith(("_", "gs_"))}
        assert public - rows == set()
    assert {("awsglue.transforms", "", name) for name in awsglue.transforms.__all__} - rows == set()


def test_modules_that_penstock_lacks_are_imported_and_a_script_s_own_come_first(tmp_path: Any) -> None:
    (tmp_path / "gs_now.py").write_text("own = True")
    code = (
        "import awsglue, gs_now, gs_uuid; from awsglueml.transforms import *; from awsglue.transforms import *;"
        "import awsgluedi.transforms; from awsglue.blueprint.workflow import Workflow; FindMatches, Relationalize;"
        # A star takes the place of no name that the script imported from its own module.
        "EntityDetector();"
        "assert gs_now.own\n"
        "try: import awsgluexx\nexcept ImportError: pass\nelse: raise SystemExit(2)\n"
        "try: from awsglue.utils import nothing\nexcept ImportError: pass\nelse: raise SystemExit(3)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False).returncode == 0


CLASS_ROWS = [
    row for row in ROWS if row.status != "refused" and not row.owner and row.name != "*" and inspect.isclass(attribute(row))
]


@pytest.mark.parametrize("row", CLASS_ROWS, ids=lambda row: row.shown)
def test_signatures_that_the_check_reads_from_the_source_are_those_of_the_class(row: Row) -> None:
    functions = {
        name: inspect.unwrap(member)
        for name, member in inspect.getmembers(attribute(row), inspect.isroutine)
        # Glue Studio's transforms are methods, too, once one of their modules is imported.
        if str(getattr(member, "__module__", "")).startswith("penstock.") and not name.startswith("gs_")
    }
    read = served_class(row.module, row.name).methods
    for name, function in functions.items():
        parameters = list(inspect.signature(function).parameters.values())
        positional = [
            parameter.name
            for parameter in parameters
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD and parameter.name != "self"
        ]
        assert list(read[name].parameters) == positional, name

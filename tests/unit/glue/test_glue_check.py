"""``penstock glue check``: what a script uses of Glue's library, told by its text alone."""

import contextlib
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock.api.aws.protocol.models import SERVICES
from penstock.cli.streams.glue import command
from penstock.errors import InvalidInput
from penstock.glue.check.evaluation import BOTO3_SERVICES, ScriptModules
from penstock.glue.check.findings import Report
from penstock.glue.check.script import check_script, check_text, refuse_sure
from penstock.glue.library import table
from penstock.glue.library.rows import Row

HEAD = """\
import sys, boto3
from awsglue.transforms import *
from awsglue.utils import getResolvedOptions
from awsglue.context import GlueContext
from awsglue.dynamicframe import DynamicFrame
from awsglue.job import Job
from pyspark.context import SparkContext
sc = SparkContext.getOrCreate()
glueContext = GlueContext(sc)
spark = glueContext.spark_session
frame = glueContext.create_dynamic_frame.from_catalog(database="d", table_name="t")
"""
LINES = HEAD.count("\n")


def check(text: str, *, head: str = HEAD, modules: ScriptModules | None = None) -> Report:
    return check_text((head + text).encode(), name="job.py", modules=modules)


def refused(text: str) -> dict[str, bool]:
    """Return the refused names of lines behind the head, and whether each is sure to be reached."""
    return {finding.name: finding.sure for finding in check(text).of_status("refused")}


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table in which a few names are refused for good, whatever the library learns."""

    def row(module: str, name: str, owner: str = "") -> Row | None:
        result = table.row(module, name, owner)
        status = "refused" if name in REFUSED else "served"
        note = f"Do without {name}." if name in REFUSED else ""
        return None if result is None else Row(module=module, owner=owner, name=name, status=status, note=note)  # type: ignore[arg-type]

    monkeypatch.setattr("penstock.glue.check.evaluation.row", row)


REFUSED = {
    "gs_lookup",
    "Join",
    "join",
    "relationalize",
    "resolveChoice",
    "purge_s3_path",
    "write_dynamic_frame_from_jdbc_conf",
}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Join.apply(frame, frame, 'a', 'b')", {"awsglue.transforms.Join": True}),
        ("Join()(frame, frame, 'a', 'b')", {"awsglue.transforms.Join": True}),
        ("frame.join(['a'], ['b'], frame)", {"DynamicFrame.join": True}),
        ("frame.spigot('s3://a/').join(['a'], ['b'], frame)", {"DynamicFrame.join": True}),
        ("SplitFields()(frame, ['a'], 'x', 'y')['x'].join(['a'], ['b'], frame)", {"DynamicFrame.join": True}),
        ("FlatMap.apply(dfc, Filter, 'frame', 'c')['x'].join(['a'], ['b'], frame)", {"DynamicFrame.join": True}),
        ("glueContext.getStreamingSource(sys.argv[1], 'read')", {}),
        ("frame.drop_fields(['a']).rename_field('b', 'c').join(['a'], ['b'], frame)", {"DynamicFrame.join": True}),
        ("Filter.apply(frame=frame, f=lambda r: r['a']).join(['a'], ['b'], frame)", {"DynamicFrame.join": True}),
        ("DynamicFrame.fromDF(frame.toDF(), glueContext, 'x').join(['a'], ['b'], frame)", {"DynamicFrame.join": True}),
        ("import awsglue.transforms as T\nT.Join.apply(frame, frame, 'a', 'b')", {"awsglue.transforms.Join": True}),
        ("from awsglue import transforms\ntransforms.Join", {"awsglue.transforms.Join": True}),
        ("glueContext.purge_s3_path('s3://a/b')", {"GlueContext.purge_s3_path": True}),
        (
            "glueContext.write_dynamic_frame.from_jdbc_conf(frame, 'c')",
            {"GlueContext.write_dynamic_frame_from_jdbc_conf": True},
        ),
        (
            "from awsglue.context import DynamicFrame as D\nD.fromDF(1, 2, 'x').join(['a'], ['b'], frame)",
            {"DynamicFrame.join": True},
        ),
        # A DataFrame has a join, too, and the name is the same.
        ("frame = frame.toDF()\nframe.join(frame, 'a')", {}),
        ("df = spark.sql('SELECT 1')\ndf.join(df, 'a')", {}),
        ("unknown.join('a')\n','.join(['a'])", {}),
        # In functions, by what they are called with, and in objects by the names of their attributes.
        ("def f(x):\n    return x.join(['a'], ['b'], x)\nf(frame)", {"DynamicFrame.join": True}),
        ("def f(x):\n    return x.join(x, 'a')\nf(frame.toDF())", {}),
        ("def f(x: DynamicFrame):\n    x.join(['a'], ['b'], x)", {"DynamicFrame.join": False}),
        ("def read():\n    return frame\nread().join(['a'], ['b'], frame)", {"DynamicFrame.join": True}),
        (
            "class Etl:\n    def __init__(self):\n        self.g = GlueContext(sc)\n"
            "    def run(self):\n        self.g.purge_s3_path('s3://a/b')\nEtl().run()",
            {"GlueContext.purge_s3_path": False},
        ),
        # A name that only Glue's classes have tells the class of an object of which nothing is known.
        ("def f(x):\n    x.relationalize('root', 's3://a/')", {"DynamicFrame.relationalize": False}),
        # What may be something else, or may not be reached, is not sure.
        ("if len(sys.argv) > 5:\n    frame.join(['a'], ['b'], frame)", {"DynamicFrame.join": False}),
        ("for each in []:\n    frame.join(['a'], ['b'], frame)", {"DynamicFrame.join": False}),
        ("try:\n    frame.join(['a'], ['b'], frame)\nexcept Exception:\n    pass", {"DynamicFrame.join": False}),
        ("if sys.argv:\n    sys.exit(0)\nframe.join(['a'], ['b'], frame)", {"DynamicFrame.join": False}),
        ("x = frame\nif sys.argv:\n    x = frame.toDF()\nx.join(x, 'a')", {"DynamicFrame.join": False}),
        ("sys.argv and frame.join(['a'], ['b'], frame)", {"DynamicFrame.join": False}),
        ("def main():\n    Join\nif __name__ == '__main__':\n    main()", {"awsglue.transforms.Join": True}),
        (
            "def batch(df, number):\n    if df.count() > 0:\n        frame.resolveChoice()\n"
            "glueContext.forEachBatch(frame=frame.toDF(), batch_function=batch, options={})",
            {"DynamicFrame.resolveChoice": True},
        ),
        # Imported and not used: an import is no use.
        ("from awsglue.transforms import Join as J", {}),
    ],
)
def test_uses_of_the_library(text: str, names: dict[str, bool]) -> None:
    assert refused(text) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("glueContext.create_dynamic_frame.from_options('mainframe', {})", {'connection_type="mainframe"': True}),
        ("KIND = 'mainframe'\nglueContext.getSource(connection_type=KIND)", {'connection_type="mainframe"': True}),
        ("glueContext.getSource(connection_type=sys.argv[1])", {}),
        ("glueContext.getSink(path='s3://a/', connection_type='s3')", {}),
        (
            "glueContext.write_dynamic_frame.from_options(frame, 's3', {'path': 's3://a/'}, format='cobol')",
            {'format="cobol"': True},
        ),
        ("glueContext.create_dynamic_frame.from_options('s3', {'paths': []}, format='ion')", {'format="ion"': True}),
        ("spark.read.format('hudi').load('s3://a/')", {'format("hudi")': True}),
        ("spark.read.format('org.apache.hudi').load('s3://a/')", {"Hudi": True}),
        ("options = {'hoodie.table.name': 'x'}\nif sys.argv:\n    spark.sql('CREATE TABLE x USING hudi')", {"Hudi": True}),
        ("def f():\n    spark.sql(f'CREATE TABLE {1} (x int) USING HUDI')", {"Hudi": False}),
        ("spark.read.format('net.snowflake.spark.snowflake')", {'format("net.snowflake.spark.snowflake")': False}),
        ("spark.read.format('parquet')\nsql = 'x{}'.format('hudi')", {}),
        ("boto3.client('sns')", {'boto3 "sns"': False}),
        ("boto3.Session().resource('dynamodb')", {'boto3 "dynamodb"': False}),
        ("boto3.client('sns', endpoint_url='http://x')\nboto3.client('glue')\nboto3.client(sys.argv[1])", {}),
        ("sc._jvm.com.amazonaws.services.glue.Thing.go()", {"sc._jvm.com.amazonaws.services.glue.Thing.go": True}),
        ("sc._jvm.java.lang.System.gc()\nglueContext._jvm.java.util.UUID", {}),
        ("import no_such_package.part", {"import no_such_package": True}),
        ("try:\n    import no_such_package\nexcept ImportError:\n    pass", {"import no_such_package": False}),
    ],
)
def test_connections_services_and_packages(text: str, names: dict[str, bool]) -> None:
    assert refused(text) == names


def test_a_service_of_boto3_may_be_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    script = "boto3.resource('dynamodb')\nboto3.client('stepfunctions')"
    monkeypatch.delenv("AWS_ENDPOINT_URL_DYNAMODB", raising=False)
    assert [finding.name for finding in check(script).of_status("refused")] == ['boto3 "dynamodb"', 'boto3 "stepfunctions"']
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:1")
    (left,) = check(script).of_status("refused")
    assert left.name == 'boto3 "stepfunctions"'
    assert "AWS_ENDPOINT_URL_SFN," in left.note


def test_glue_studio_s_methods_are_checked_by_their_modules() -> None:
    report = check("import gs_now, gs_lookup\nmade = frame.gs_now()\nmade.gs_lookup()\nframe.gs_nothing()\n")
    names = {
        finding.name: (finding.status, finding.line - LINES, finding.sure)
        for finding in report.findings
        if "gs_" in finding.name
    }
    assert names == {
        "DynamicFrame.gs_now": ("served", 2, False),
        "DynamicFrame.gs_lookup": ("refused", 3, True),
        "DynamicFrame.gs_nothing": ("unknown", 4, False),
    }


def test_types_of_entities_are_checked_at_the_call() -> None:
    head = f"from awsglueml.transforms import EntityDetector\n{HEAD}entity_detector = EntityDetector()\n"
    report = check(
        "entity_detector.detect(frame, ['EMAIL', 'PERSON_NAME'], 'DetectedEntities')\n"
        "wanted = {'USA_DRIVING_LICENSE': [{'action': 'DETECT'}]}\n"
        "entity_detector.detect(frame, wanted, 'DetectedEntities', 'HIGH')\n"
        "entity_detector.classify_columns(frame, entityTypesToDetect=['JAPAN_MY_NUMBER'])\n"
        "entity_detector.classify_columns(frame, ['EMAIL', 'PHONE_NUMBER'], 1.0, 0.1)\n"
        "entity_detector.classify_columns(frame, sys.argv[1:])\n",
        head=head,
    )
    lines = head.count("\n")
    assert [
        (finding.line - lines, finding.note.partition(" cannot")[0], finding.sure) for finding in report.of_status("refused")
    ] == [
        (1, "Entities of type PERSON_NAME", True),
        (3, "Entities of type USA_DRIVING_LICENSE", True),
        (4, "Entities of type JAPAN_MY_NUMBER", True),
    ]


def test_modules_beside_the_script_and_of_the_job_are_there(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").touch()
    (tmp_path / "package").mkdir()
    script = tmp_path / "job.py"
    script.write_text("import helpers\nimport package.inner\nimport of_the_job\nimport json\n")
    assert [finding.line for finding in check_script(script).of_status("refused")] == [3]
    assert check_script(script, extra_files=["s3://bucket/code/of_the_job.py"]).of_status("refused") == []


@pytest.mark.parametrize(
    ("text", "line", "name"),
    [
        ('x = 1\nprint "done"', 2, "Python 2"),
        ("try:\n    pass\nexcept IOError, e:\n    pass", 3, "Python 2"),
        ("x = 0777", 1, "Python 2"),
        ("%idle_timeout 60\nimport sys", 1, "a notebook's magic"),
        ("x = (1,\ny = 2", 1, "a syntax error"),
    ],
)
def test_what_is_not_python_3_is_refused_at_its_line(text: str, line: int, name: str) -> None:
    [found] = check(text, head="").findings
    assert (found.line, found.name, found.status, found.sure) == (line, name, "refused", True)


def test_a_run_is_refused_for_what_is_sure_with_each_line() -> None:
    report = check(
        "args = getResolvedOptions(sys.argv, ['JOB_NAME', 'day', 'TempDir'])\nJoin\nif sys.argv:\n    frame.join()"
    )
    assert report.arguments == [("JOB_NAME", LINES + 1), ("day", LINES + 1)]
    with pytest.raises(InvalidInput) as caught:
        refuse_sure(report, ["--JOB_NAME", "x"])
    assert caught.value.message.splitlines() == [
        "job.py was not started, because it cannot succeed:",
        f"  line {LINES + 2}: awsglue.transforms.Join: Do without Join.",
        f"  line {LINES + 1}: the script needs the argument --day.",
    ]
    maybe = check("names = ['day']\nif sys.argv:\n    getResolvedOptions(sys.argv, names)\n    Join")
    refuse_sure(maybe, [])
    refuse_sure(check("names = ['day']\ngetResolvedOptions(sys.argv, names)"), ["--day=3"])
    refuse_sure(check("getResolvedOptions(sys.argv, ['day_of_month'])"), ["--day", "3"])


def test_a_frames_unknown_name_is_not_aws_s_either() -> None:
    report = check("frame.select('a')\nglueContext.sql('SELECT 1')\nframe._jdf\nEvaluateDataQuality().other(frame).keys()")
    assert [finding.name for finding in report.of_status("unknown")] == ["DynamicFrame.select"]
    assert report.of_status("refused") == []


def test_the_services_are_those_that_are_served() -> None:
    assert {*SERVICES, "s3"} == BOTO3_SERVICES


def test_nothing_of_spark_is_needed(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(HEAD + "glueContext.getSource(connection_type='x')\nopen('ran', 'w')\n")
    code = (
        "import sys; sys.modules['pyspark'] = None\n"
        "from pathlib import Path\n"
        "from penstock.glue.check.script import check_script\n"
        f"print([each.name for each in check_script(Path({str(script)!r})).of_status('refused')])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == """['connection_type="x"']\n"""
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"{' ' * depth}for x in y:\n" for depth in range(60)) + " " * 60 + "pass\n",
        "def f0(): pass\n" + "".join(f"def f{n}(): f{n - 1}(); f{n - 1}()\n" for n in range(1, 40)) + "f39()\n",
        "x = " + "+".join(["y"] * 3_000),
        "f" + "(a)" * 2_000,
    ],
)
def test_the_work_is_bounded(text: str) -> None:
    # Without bounds, none of them would end.
    with contextlib.suppress(InvalidInput):
        check(text, head="")


def test_a_script_that_is_too_large_is_refused() -> None:
    with pytest.raises(InvalidInput, match="more than 1,000,000 bytes"):
        check("#" * 1_000_001)


def test_the_command_prints_text_or_json_and_exits_by_what_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(HEAD + "frame.count()\nsink = glueContext.getSink(connection_type='s3')\n")
    run = CliRunner().invoke
    fine = run(command, ["check", str(script)])
    assert fine.exit_code == 0
    assert fine.output.splitlines()[0].endswith("0 refused, 0 different from AWS, 4 served")
    assert f"DynamicFrame.count ({LINES + 1})" in fine.output
    script.write_text(HEAD + "Join\nget = getResolvedOptions(sys.argv, ['day'])\n")
    result = run(command, ["check", "--json", str(script)])
    document = json.loads(result.output)
    assert result.exit_code == 1
    assert document["refused"] == [
        {"line": LINES + 1, "name": "awsglue.transforms.Join", "note": "Do without Join.", "sure": True}
    ]
    assert document["arguments"] == [{"name": "day", "line": LINES + 2}]


def test_run_refuses_before_spark_starts(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(HEAD + "Join\n")
    refusal = CliRunner().invoke(command, ["run", "--home", str(tmp_path), str(script)]).exception
    assert isinstance(refusal, InvalidInput)
    assert f"line {LINES + 1}: awsglue.transforms.Join" in refusal.message


@pytest.mark.parametrize("call", ["EvaluateDataQuality.apply", "EvaluateDataQuality().process_rows"])
def test_rules_are_read_before_the_start(call: str) -> None:
    text = (
        "from awsgluedq.transforms import EvaluateDataQuality\n"
        'rules = """Rules = [\n    DetectAnomalies "RowCount"\n]"""\n'
        f"{call}(frame=frame, ruleset=rules, publishing_options={{}})\n"
        f"{call}(frame=frame, ruleset='Rules = [ ColumnCount > 0 ]')\n"
        f"{call}(frame=frame, ruleset=frame.name)\n"
    )
    (finding,) = check(text).of_status("refused")
    assert (finding.line - LINES, finding.sure) == (5, True)
    assert finding.note.startswith("Ruleset, line 2, column 5: DetectAnomalies is not supported: anomalies are found")


@pytest.mark.parametrize(
    ("kind", "writes", "expected"),
    [
        ("mongodb", False, r'mongo-spark-connector\) by --extra-jars, and use spark\.read\.format\("mongodb"\)'),
        ("DocumentDB", True, r'use frame\.toDF\(\)\.write\.format\("mongodb"\)'),
        ("custom.jdbc", False, r'JDBC driver by --extra-jars, and use spark\.read\.format\("jdbc"\)'),
        ("marketplace.spark", False, "run at AWS alone"),
        ("hudi", False, "a table of Iceberg or Delta"),
        ("mainframe", True, r"Use one of .*delta.*or frame\.toDF"),
    ],
)
def test_types_of_connections_say_what_to_write_instead(kind: str, writes: bool, expected: str) -> None:
    method = "write_dynamic_frame.from_options(frame, " if writes else "create_dynamic_frame.from_options("
    (found,) = check(f"glueContext.{method}'{kind}', {{}})").of_status("refused")
    assert re.search(expected, found.note)


def _notebook(path: Path, *cells: str) -> Path:
    code = [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells]
    path.write_text(json.dumps({"nbformat": 4, "cells": [{"cell_type": "markdown", "source": "# %idle"}, *code]}))
    return path


def test_a_notebook_is_checked_by_its_cells(tmp_path: Path) -> None:
    notebook = _notebook(
        tmp_path / "a.ipynb",
        "%idle_timeout 2880\n%glue_version 5.0\n%extra_py_files s3://lake/own_code.py\n",
        '%%configure\n{"--additional-python-modules": "some-package==1.0"}\n',
        HEAD + "import own_code, some_package\n",
        "if True:\n    !ls\n    print(1)\n%%not a magic at the beginning\n1\nglueContext.purge_s3_path('s3://a/', {})\n",
        "%%sql\nSELECT * FROM t\n",
        "import nothing_like_it\n",
    )
    report = check_script(notebook)
    assert {finding.name for finding in report.of_status("refused")} == {
        "GlueContext.purge_s3_path",
        "import nothing_like_it",
    }
    places = {item["name"]: (item["cell"], item["line"]) for item in report.document()["refused"]}
    assert places == {"GlueContext.purge_s3_path": (5, 6), "import nothing_like_it": (7, 1)}
    assert "cell 5, line 6: GlueContext.purge_s3_path" in report.text()
    magics = {finding.name for finding in report.of_status("ignored")}
    assert magics >= {"%idle_timeout", "%extra_py_files", "%%configure", "!ls", "%%sql"}
    assert CliRunner().invoke(command, ["check", str(notebook)]).exit_code == 1
    ran = CliRunner().invoke(command, ["run", str(notebook)])
    assert "is a notebook" in str(ran.exception)
    for wrong in ("{}", "no", '{"cells": [{"cell_type": "code"}]}', '{"cells": 3}'):
        (tmp_path / "b.ipynb").write_text(wrong)
        with pytest.raises(InvalidInput, match="not a notebook"):
            check_script(tmp_path / "b.ipynb")


def test_modules_beside_the_script_in_archives_and_in_its_project_are_found(tmp_path: Path) -> None:
    project = tmp_path / "project"
    for folder in ("jobs", "common", "jobs/inside"):
        (project / folder).mkdir(parents=True)
    (project / "pyproject.toml").write_text("")
    (project / "jobs/beside.py").write_text("")
    (tmp_path / "outside").mkdir()
    with zipfile.ZipFile(project / "jobs/libs.zip", "w") as archive:
        archive.writestr("packed/__init__.py", "")
        archive.writestr("single.py", "")
    script = project / "jobs/job.py"
    script.write_text("import beside, inside, packed, single\nimport common\nimport outside\n")
    report = check_script(script, extra_files=["libs.zip"])
    assert [(finding.name, finding.sure) for finding in report.of_status("refused")] == [("import outside", True)]
    (found,) = report.of_status("differs")
    assert (found.name, str(project) in found.note) == ("import common", True)
    # What is in an archive of the lake is not known here.
    report = check_script(script, extra_files=["s3://lake/libs.zip"])
    assert {finding.name: finding.sure for finding in report.of_status("refused")} == {
        "import packed": False, "import single": False, "import outside": False
    }  # fmt: skip


def test_a_refused_name_in_a_function_that_nothing_calls_is_a_warning(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    never = "def old(frame):\n    return frame.relationalize('x', 's3://a/')\ndef older(frame):\n    return old(frame)\n"
    script.write_text(HEAD + never)
    report = check_script(script)
    assert [(finding.called, finding.sure) for finding in report.of_status("refused")] == [(False, False)]
    assert "Refused, in functions that nothing calls:" in report.text()
    assert report.document()["refused"][0]["called"] is False
    assert CliRunner().invoke(command, ["check", str(script)]).exit_code == 0
    refuse_sure(report, [])
    for call in ("older(frame)\n", "steps = [older]\n", "getattr(sys.modules[__name__], 'older')(frame)\n"):
        script.write_text(HEAD + never + call)
        assert [finding.called for finding in check_script(script).of_status("refused")] == [True]
        assert CliRunner().invoke(command, ["check", str(script)]).exit_code == 1

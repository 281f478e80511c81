"""What a failed run's ErrorMessage says of Spark's errors, as real ones are printed."""

import runpy
import traceback
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.glue.launch.interactive import Namespace
from penstock.runs.causes import failure_cause

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
UDF = "from pyspark.sql.functions import udf\nf = udf(lambda x: 1 // x, 'int')\nspark.range(1).select(f('id')).collect()\n"
CASES = {
    "a column": (
        "df = spark.createDataFrame([(1,)], 'a int')\ndf.select('b')\n",
        "QUERY_ERROR; Failed Line Number: 2; AnalysisException: [UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or "
        "function parameter with name `b` cannot be resolved. Did you mean one of the following? [`a`]. (job.py)",
    ),
    "SQL's syntax": (
        "spark.sql('SELEC 1')\n",
        "QUERY_ERROR; Failed Line Number: 1; ParseException: [PARSE_SYNTAX_ERROR] Syntax error at or near 'SELEC'. "
        "(line 1, pos 0) (job.py)",
    ),
    "a table": (
        "\nspark.sql('SELECT * FROM nothing.t')\n",
        "QUERY_ERROR; Failed Line Number: 2; AnalysisException: [TABLE_OR_VIEW_NOT_FOUND]",
    ),
    "a path": (
        "spark.read.parquet('/nowhere/x')\n",
        "RESOURCE_NOT_FOUND_ERROR; Failed Line Number: 1; AnalysisException: [PATH_NOT_FOUND] Path does not exist: "
        "file:/nowhere/x. (job.py)",
    ),
    "a function of the script's in a task": (
        UDF, "UNCLASSIFIED_ERROR; Failed Line Number: 2; ZeroDivisionError: integer division or modulo by zero (job.py)",
    ),
    "the JVM": (
        "spark._jvm.java.lang.Integer.parseInt('x')\n",
        'QUERY_ERROR; Failed Line Number: 1; NumberFormatException: For input string: "x" (job.py)',
    ),
    "a value in a task": (
        "frame = spark.createDataFrame([('x',)], 'a string')\nframe.selectExpr(\"assert_true(a = 'y')\").collect()\n",
        "UNCLASSIFIED_ERROR; Failed Line Number: 2; SparkRuntimeException: [USER_RAISED_EXCEPTION] '(a = y)' is not true!",
    ),
    "a driver": (
        "spark.read.format('jdbc').options(url='jdbc:nothing:x', dbtable='t').load()\n",
        "UNCLASSIFIED_ERROR; Failed Line Number: 1; SQLException: No suitable driver (job.py)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_errors_of_spark_are_printed_without_plans_and_stacks(case: str, spark: SparkSession, tmp_path: Path) -> None:
    text, expected = CASES[case]
    script = tmp_path / "job.py"
    script.write_text(text)
    with pytest.raises(Exception) as caught:  # noqa: PT011 - of each library its own
        runpy.run_path(str(script), init_globals={"spark": spark}, run_name="__main__")
    printed = "".join(traceback.format_exception(caught.value))
    assert failure_cause(printed.splitlines(), 1, "job.py").startswith(f"Error Category: {expected}")


def test_a_failing_statement_of_a_session_has_its_own_frames_alone(spark: SparkSession) -> None:
    output = Namespace({"spark": spark}).run("x = 1\nspark.sql('SELEC 1')\n")
    assert (output["ErrorName"], "SELEC" in output["ErrorValue"]) == ("ParseException", True)
    frames = "".join(output["Traceback"])
    assert 'File "<statement>", line 2' in frames
    assert "jobs/session.py" not in frames

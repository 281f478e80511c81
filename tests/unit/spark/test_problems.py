"""What Spark and Kafka throw, as one sentence with a remedy; the texts are theirs, cut."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.errors import AccessDenied, DataProblem, EnvironmentProblem, InternalError, NotFound, PenstockError
from penstock.pipelines import Pipeline
from penstock.spark.problems import first_cause, is_data_error, to_penstock_error

SOURCE = SimpleNamespace(brokers="h:1", topic="flights")
PIPELINE = cast("Pipeline", SimpleNamespace(name="p", checkpoint="s3://lake/cp", source=SOURCE))

DIVIDE = "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0. SQLSTATE: 22012\n== SQL ==\n1/0"
CAST = "Job aborted due to stage failure: x\n[CAST_INVALID_INPUT] The value 'a' cannot be cast to \"INT\". SQLSTATE: 22018"
RAISED = "Job aborted due to stage failure: x\n[USER_RAISED_EXCEPTION] Sink s cannot apply 't'. SQLSTATE: P0001"
WRAPPED = (
    "An error occurred while calling o110.parquet.\n"
    ": org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to file:/x. SQLSTATE: 58030\n"
    "\tat org.apache.spark.X\nCaused by: java.io.IOException: one\n\tat a.B\nCaused by: java.io.IOException: {}\n\tat c.D"
)

PLANNER = (
    "[STREAM_FAILED] Query [id = x] terminated with exception: [PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR] Failed when "
    "Python streaming data source perform latestOffset: Traceback (most recent call last):\n  File x, line 1, in y\n"
    "penstock.errors.NotFound: Stream clicks has no shards.\n SQLSTATE: 38000"
)


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        (DIVIDE, DataProblem, ["[DIVIDE_BY_ZERO]", "try_divide, try_cast"]),
        (CAST, DataProblem, ["[CAST_INVALID_INPUT]", "nothing was committed"]),
        (RAISED, DataProblem, ["cannot apply 't'", "filter such records"]),
        (WRAPPED.format("/lake/day=xx: File name too long"), DataProblem, ["partition value", "Shorten"]),
        (WRAPPED.format("No space left on device"), EnvironmentProblem, ["disk is full"]),
        (WRAPPED.format("the deepest"), InternalError, ["java.io.IOException: the deepest"]),
        ("SaslAuthenticationException: no", AccessDenied, ["h:1", "flights"]),
        ("An error occurred while calling o1.start", InternalError, ["o1.start"]),
        ("", InternalError, ["RuntimeError"]),
        (PLANNER, NotFound, ["Stream clicks has no shards"]),
    ],
)
def test_a_failure_is_explained_by_its_cause(text: str, kind: type[PenstockError], words: list[str]) -> None:
    problem: Any = to_penstock_error(RuntimeError(text), PIPELINE, log="spark.log")
    assert type(problem) is kind
    assert all(word in str(problem) for word in words), str(problem)
    assert "\n" not in str(problem)


def test_what_lies_in_the_data_is_not_tried_again() -> None:
    assert is_data_error(RuntimeError(DIVIDE))
    assert is_data_error(RuntimeError(RAISED))
    assert is_data_error(RuntimeError(WRAPPED.format("File name too long")))
    assert not is_data_error(RuntimeError(WRAPPED.format("Connection reset")))


def test_the_first_cause_of_a_sources_error_is_its_own_message() -> None:
    assert first_cause(RuntimeError(PLANNER)) == "Stream clicks has no shards."

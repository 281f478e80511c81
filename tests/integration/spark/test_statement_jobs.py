"""The Spark jobs of a session's statements."""

import threading

import pytest
from pyspark.sql import SparkSession

from penstock.glue.launch.interactive import SparkJobs
from penstock.retries import wait_until

pytestmark = pytest.mark.spark


def test_the_shuffle_stage_of_a_cancelled_statement_ends_also_if_it_starts_later(spark: SparkSession) -> None:
    jobs = SparkJobs(spark.sparkContext)
    errors: list[str] = []

    def statement() -> None:
        jobs.begin(1)
        try:
            spark.range(10**14).selectExpr("sum(id % 7)").collect()
        except Exception as error:  # noqa: BLE001 -- the assertion below shows it
            errors.append(str(error))

    jobs.cancel(1)
    thread = threading.Thread(target=statement)
    thread.start()
    try:
        assert wait_until(lambda: jobs.cancel_late() or not thread.is_alive(), seconds=240)  # type: ignore[func-returns-value]
    finally:
        spark.sparkContext.cancelAllJobs()
        thread.join()
    assert "cancelled" in errors[0]

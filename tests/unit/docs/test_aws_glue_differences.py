"""Each difference from AWS Glue that docs/pipelines/from-aws-glue.md lists is what a test shows.

A row's tests exist, and the names that the row quotes are in their modules: a row that is added, renamed or says another
name needs a test of it.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs/pipelines/from-aws-glue.md").read_text().partition("\n## Differences\n")[2]
DIFFERENCES = {
    area: differs
    for area, differs, _ in re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \|$", TEXT, re.MULTILINE)
    if area != "area"
}
# Paths below tests.
SHOWN_BY = {
    "library": [
        "unit/awsglue/test_glue_library.py::test_a_refused_name_is_imported_and_raises_at_its_use",
        "unit/docs/test_glue_library_page.py::test_the_page_is_written_from_the_rows",
    ],
    "Spark": [
        "integration/jobs/test_spark_jobs.py::test_a_glueetl_job_runs_on_spark",
        "integration/spark/test_glue_streams.py::test_a_failed_batch_is_run_again_with_the_same_records",
    ],
    "options": [
        "unit/glue/test_glue_option_table.py::test_an_option_that_would_change_rows_is_refused",
        "unit/glue/test_glue_option_table.py::test_an_option_that_changes_no_row_is_said_to_have_no_effect",
    ],
    "refusals": [
        "unit/awsglue/test_glue_library.py::test_a_refused_name_is_imported_and_raises_at_its_use",
        "unit/glue/test_glue_check.py::test_run_refuses_before_spark_starts",
    ],
    "files": [
        "integration/spark/test_glue_files.py::test_files_are_chosen_by_glues_options",
        "unit/glue/test_datalake_formats.py::test_formats_are_read_as_glue_writes_them",
    ],
    "writing": [
        "integration/spark/test_glue_writes.py::test_formats_are_written_by_glues_options",
        "integration/spark/test_glue_streams.py::test_an_overwrite_of_what_is_read_loses_nothing",
    ],
    "catalog": ["integration/spark/test_glue_writes.py::test_a_sink_makes_the_table_its_columns_and_partitions"],
    "Spark's SQL by name": [
        "integration/glue/test_glue_batch.py::test_a_batch_job_reads_and_writes_tables_and_names_a_serde_that_spark_lacks",
        "integration/glue/test_glue_command.py::test_settings_and_files_of_a_jobs_own_arguments_are_applied",
        "integration/spark/test_glue_tables.py::test_tables_are_read_by_their_serde",
    ],
    "collections": ["integration/spark/test_glue_databases.py::test_writes_are_one_transaction_with_their_actions"],
    "frames": [
        "integration/glue/test_transforms.py::test_a_record_lacks_the_fields_that_its_json_lacks",
        "integration/jobs/test_cluster.py::test_a_job_runs_on_a_cluster_and_can_be_stopped_when_its_worker_is_lost",
    ],
    "relationalize": [
        "integration/glue/test_transforms.py::test_the_legislators_are_joined_and_relationalized_as_in_aws_s_tutorial"
    ],
    "quality": [
        "unit/glue/quality/test_publishing.py::test_other_places_are_refused",
        "unit/glue/quality/test_rulesets.py::test_every_rule_type_is_planned_or_refused",
    ],
    "streams": [
        "integration/spark/test_glue_streams.py::test_a_batch_is_written_once_and_a_refusal_is_not_tried_again",
        "unit/glue/test_glue_options.py::test_what_batches_cannot_do_is_refused",
    ],
    "databases": [
        "integration/spark/test_glue_databases.py::test_redshift_copies_and_unloads_through_its_folder",
        "integration/spark/test_glue_databases.py::test_what_is_not_served_is_refused_by_name",
    ],
    "DynamoDB": ["integration/spark/test_glue_dynamodb.py::test_what_is_not_served_is_refused_by_name"],
    "table formats": [
        "unit/glue/test_datalake_formats.py::test_formats_are_read_as_glue_writes_them",
        "integration/spark/test_glue_lake_tables.py::test_iceberg_and_delta_tables_are_read_and_written",
    ],
    "modules": [
        "integration/jobs/test_runs.py::test_what_a_run_cannot_have_is_refused",
        "unit/setup/test_extras.py::test_modules_that_the_page_of_glue_s_users_promises_come_with_spark",
    ],
    "encryption": ["integration/jobs/test_triggers.py::test_security_configurations_promise_no_encryption_that_is_not_done"],
    "machine learning": ["unit/awsglue/test_glue_library.py::test_a_refused_name_is_imported_and_raises_at_its_use"],
    "sensitive data": ["unit/glue/test_glue_check.py::test_types_of_entities_are_checked_at_the_call"],
    "jobs": ["integration/jobs/test_runs.py::test_what_a_run_cannot_have_is_refused"],
    "what a run reaches": [
        "integration/jobs/test_confinement.py::test_a_job_reaches_its_own_folder_and_the_endpoints_and_nothing_else",
        "unit/cli/test_up_options.py::test_jobs_are_off_unless_asked_for_and_may_use_the_broker",
    ],
    "arguments": ["integration/jobs/test_starters.py::test_a_starter_sets_no_argument_that_brings_code"],
    "schedules": ["unit/runs/test_firing.py::test_a_time_at_which_no_server_was_there_is_left_out"],
}


@cache
def module(path: str) -> str:
    return (ROOT / "tests" / path).read_text()


@cache
def functions_of(path: str) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(module(path))) if isinstance(node, ast.FunctionDef)}


def test_each_difference_has_tests() -> None:
    assert list(SHOWN_BY) == list(DIFFERENCES)


@pytest.mark.parametrize("area", SHOWN_BY)
def test_the_tests_of_a_difference_are_there_and_know_its_names(area: str) -> None:
    places = [item.split("::") for item in SHOWN_BY[area]]
    for path, name in places:
        assert name in functions_of(path), f"tests/{path} has no {name}"
    text = "\n".join(module(path) for path, _ in places)
    quoted = {item.removesuffix("()") for item in re.findall(r"`([^`\s]+)`", DIFFERENCES[area])}
    assert sorted(name for name in quoted if name not in text) == []

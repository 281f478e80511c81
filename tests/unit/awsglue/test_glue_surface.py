"""The names of Glue's library that a script can use, and the errors for the others; without a Spark session."""

import importlib
import subprocess
import sys
from typing import Any

import pytest

import awsglue
from awsglue import DynamicFrame, transforms
from awsglue.context import GlueContext
from awsglue.job import Job
from awsglue.utils import GlueArgumentError, GlueArgumentParser, getResolvedOptions, strip_option_prefix
from penstock.glue.errors import NotSupported


def test_arguments_are_resolved_as_glue_does() -> None:
    given = ["job.py", "--JOB_NAME", "j", "--my-path=s3://b/x", "--other", "1", "--TempDir", "s3://t/"]
    get_resolved_options = getResolvedOptions(given, ["JOB_NAME", "my-path"])
    assert {name: value for name, value in get_resolved_options.items() if value is not None} == {
        "JOB_NAME": "j",
        "my_path": "s3://b/x",
        "TempDir": "s3://t/",
        "RedshiftTempDir": "s3://t/",
        "job_bookmark_option": "job-bookmark-disable",
    }
    # A folder is never required, and a name may be abbreviated, as with AWS's parser.
    assert getResolvedOptions(["job.py"], ["TempDir"])["TempDir"] is None
    with pytest.raises(GlueArgumentError, match="--JOB_NAME"):
        getResolvedOptions(["job.py", "--NAME", "j"], ["JOB_NAME"])
    assert getResolvedOptions(["job.py", "--JOB_NA", "j"], ["JOB_NAME"])["JOB_NAME"] == "j"
    older = getResolvedOptions(["job.py", "--continuation-option", "continuation-enabled"], [])
    assert older["job_bookmark_option"] == "job-bookmark-enable"
    with pytest.raises(GlueArgumentError, match="job-bookmark-option"):
        getResolvedOptions(["job.py", "--job-bookmark-option", "always"], [])
    for reserved in ("job-bookmark-option", "job_bookmark_from", "JOB_RUN_ID"):
        with pytest.raises(RuntimeError, match="reserved"):
            getResolvedOptions(["job.py"], [reserved])


def test_glue_studio_s_methods_that_are_refused_say_what_to_write_instead() -> None:
    importlib.import_module("gs_lookup")
    frame: Any = DynamicFrame(None, None)  # type: ignore[arg-type]
    with pytest.raises(NotSupported, match=r"DynamicFrame\.gs_lookup .* Write toDF\(\)\.join"):
        frame.gs_lookup(colName="id")


def test_a_script_s_own_parser_raises_instead_of_ending_the_process() -> None:
    parser = GlueArgumentParser()
    parser.add_argument("--day", required=True)
    with pytest.raises(GlueArgumentError, match="--day"):
        parser.parse_args([])
    assert strip_option_prefix("--day") == "day"


def test_a_job_begins_and_ends() -> None:
    job = Job(None)
    job.commit()  # a script without init ends, too
    assert not job.isInitialized()
    job.init("j", getResolvedOptions(["job.py", "--JOB_NAME", "j"], ["JOB_NAME"]))
    assert job.isInitialized()
    job.commit()


def test_modules_are_imported_by_name() -> None:
    # Python's own protocols get an AttributeError.
    for owner in (GlueContext.__new__(GlueContext), DynamicFrame(None, None), transforms):  # type: ignore[arg-type]
        assert not hasattr(owner, "__array__")
    assert awsglue.DynamicFrame is DynamicFrame
    # As on AWS, where awsglue.context imports them.
    from awsglue.context import DynamicFrame as Another

    assert Another is DynamicFrame
    with pytest.raises(ImportError):
        from awsglue import nothing  # noqa: F401
    results: dict[str, Any] = {}
    exec("from awsglue.transforms import *", results)
    assert set(transforms.__all__) <= set(results)


def test_the_schema_registry_and_the_arguments_do_not_need_spark() -> None:
    code = (
        "import sys, awsglue, awsglue.utils, awsglue.schema_registry.glue_schema_registry_client;"
        "sys.exit('pyspark' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

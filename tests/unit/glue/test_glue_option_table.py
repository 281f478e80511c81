"""The table of Glue's options: what the code reads of it, and what becomes of options that it does not read."""

import contextlib
import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from unittest.mock import MagicMock

import pytest

from penstock.client.connections import GlueConnection
from penstock.errors import InvalidInput
from penstock.glue.connections.databases import ANY, KINDS
from penstock.glue.context.purge import purge_path
from penstock.glue.context.streaming import batch_options
from penstock.glue.library.connection_options import READS, WRITES
from penstock.glue.library.options import OPTIONS, outcome_of
from penstock.glue.options import Options
from penstock.glue.sinks import kinds as sinks
from penstock.glue.sinks.formats import output
from penstock.glue.sinks.port import Write
from penstock.glue.sources import formats
from penstock.glue.sources import kinds as sources
from penstock.glue.sources.port import Read

FORMATS = ("csv", "json", "parquet", "glueparquet", "orc", "avro", "xml", "groklog")
NEEDED_BY: Mapping[str, dict[str, Any]] = {"xml": {"rowTag": "r"}, "groklog": {"logFormat": "%{WORD:w}"}}
# What a connection needs before its other options are read.
NEEDED: Mapping[str, dict[str, Any]] = {
    **{kind: {"path": "s3://b/x"} for kind in ("s3", "file", *FORMATS)},
    **{kind: {"url": f"jdbc:{kind}://db/shop", "dbtable": "t"} for kind in KINDS},
    ANY: {"url": "jdbc:mysql://db/shop", "dbtable": "t"},
    "dynamodb": {"dynamodb.input.tableName": "t", "dynamodb.output.tableName": "t"},
    "iceberg": {"path": "glue_catalog.d.t"},
    "delta": {"path": "s3://b/t"},
    "kafka": {"bootstrap.servers": "b:9092", "topicName": "t"},
    "kinesis": {"streamName": "t"},
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    """The options that were read, by owner."""
    results: dict[str, set[str]] = {}
    raw, rest = Options.raw, Options.rest

    def noted(options: Options, name: str) -> Any:
        results.setdefault(options.owner, set()).add(name)
        return raw(options, name)

    def noted_rest(options: Options, prefix: str) -> dict[str, str]:
        results.setdefault(options.owner, set()).add(f"{prefix}*")
        return rest(options, prefix)

    monkeypatch.setattr(Options, "raw", noted)
    monkeypatch.setattr(Options, "rest", noted_rest)
    return results


def tables() -> Iterator[dict[str, Any]]:
    named = {"Name": "t", "DatabaseName": "d"}
    for form in FORMATS:
        storage: dict[str, Any] = {"Location": "s3://b/t", "Columns": [{"Name": "a", "Type": "int"}]}
        if form == "groklog":
            storage["SerdeInfo"] = {"Parameters": {"input.format": "%{WORD:w}"}}
        yield {**named, "Parameters": {"classification": form, "rowTag": "r"}, "StorageDescriptor": storage}
    yield {**named, "Parameters": {"table_type": "ICEBERG"}}
    crawled = {"connectionName": "c", "classification": "postgresql"}
    yield {**named, "Parameters": crawled, "StorageDescriptor": {"Location": "shop.public.t"}}
    yield {**named, "Parameters": {"table_type": "DELTA"}, "StorageDescriptor": {"Location": "s3://b/t"}}


def test_every_served_option_is_read_and_no_other(asked: dict[str, set[str]]) -> None:
    nothing = MagicMock()
    address = {"JDBC_CONNECTION_URL": "jdbc:postgresql://db/shop"}
    nothing.connection.return_value = GlueConnection(name="c", type="JDBC", properties=address)
    nothing.catalog.return_value.table.side_effect = list(tables())
    for kind, given in NEEDED.items():
        owners = {name for name, _ in (READS[kind], *([WRITES[kind]] if kind in WRITES else []))}
        of_kind = {name: value for name, value in given.items() if any(name in OPTIONS[owner] for owner in owners)}
        read = Read(session=nothing, connection_type=kind, options=of_kind)
        with contextlib.suppress(Exception):
            _ = sources.read_stream(read) or sources.read(replace(read, format=kind if kind in FORMATS else "csv"))
        if kind in WRITES:
            form = kind if kind in FORMATS and kind in WRITES else "json"
            with contextlib.suppress(Exception):
                sinks.write(Write(session=nothing, connection_type=kind, options=of_kind, format=form), nothing)
    for form in FORMATS:
        formats.FORMATS[form](Options(f"the format {form}", NEEDED_BY.get(form, {})))
        formats_owner = Options(f"the format {form}", {})
        formats_owner.raw("attachFilename")
        if form in WRITES:
            output(form, {}, compression=None)
    for table in tables():
        with contextlib.suppress(Exception):
            sources.read_table(Read(session=nothing, connection_type="catalog"), table)
        with contextlib.suppress(Exception):
            sinks.write_table(Write(session=nothing, connection_type="catalog", database="d", table="t"), MagicMock())
    batch_options({"windowSize": "1 s", "checkpointLocation": "s3://b/c"})
    with contextlib.suppress(Exception):
        purge_path(nothing, "s3://b/x", {})
    served = {owner: {row.name for row in rows.values() if row.status == "served"} for owner, rows in OPTIONS.items()}
    for owner, names in served.items():
        # An option of the writer says nothing to the reader of a table.
        form = owner.removeprefix("the read of a table of ")
        assert names - asked[owner] - (asked[f"the format {form}"] if form != owner else set()) == set(), owner
        assert asked[owner] <= set(OPTIONS[owner]), owner


def test_the_table_has_the_types_of_connections_and_formats() -> None:
    assert set(READS) == sources.READABLE
    assert set(WRITES) == sinks.WRITABLE
    assert {owner.removeprefix("the format ") for owner in OPTIONS if owner.startswith("the format ")} == set(FORMATS)
    assert set(FORMATS) == set(formats.FORMATS)


def warned(caplog: pytest.LogCaptureFixture, owner: str, **given: Any) -> list[str]:
    """Return the warnings about options, without the place in this file."""
    caplog.clear()
    with caplog.at_level(logging.INFO, "awsglue"):
        Options(owner, given)
    return [record.getMessage().partition(": ")[2] for record in caplog.records]


def test_an_option_that_aws_does_not_have_is_ignored_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    page = " docs/pipelines/glue-options.md lists the options."
    assert warned(caplog, "the s3 source", paths=["s3://b/x"], gzip=True, jobBookmarkKeys=["id"]) == [
        f"The s3 source ignores gzip, jobBookmarkKeys (it is an option of the postgresql source), as AWS does.{page}"
    ]
    assert warned(caplog, "the format csv", withheader=True, seperator="|", separator=";") == [
        "The format csv ignores seperator (did you mean separator?), withheader (did you mean withHeader?), as AWS does."
        + page
    ]
    assert warned(caplog, "the s3 sink", path="s3://b/x", aws_iam_role="r")[0].startswith("The s3 sink ignores aws_iam_role")
    assert warned(caplog, "forEachBatch", windowsize="1 s")[0].startswith("forEachBatch ignores windowsize (did you mean")


def test_an_option_that_changes_no_row_is_said_to_have_no_effect(caplog: pytest.LogCaptureFixture) -> None:
    (said,) = warned(caplog, "the s3 source", groupSize="1048576", groupFiles="inPartition", isFailFast="true", nonsense=1)
    assert said.startswith(
        "The s3 source ignores nonsense, as AWS does. groupFiles and groupSize have no effect here: Spark"
    )
    assert "isFailFast" not in said
    # What AWS needs to move rows is nothing to speak of.
    assert warned(caplog, "the redshift source", redshiftTmpDir="s3://b/t", aws_iam_role="r") == []
    assert warned(caplog, "the format avro", version="1.8") == []
    (said,) = warned(caplog, "the format avro", version="1.7")
    assert said.startswith("The format avro: version has no effect here: Logical types")


def test_an_option_that_would_change_rows_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"Option withSchema of the format json is not supported. Leave it out"):
        Options("the format json", {"withSchema": "{}"})
    assert outcome_of("the delta sink", "partitionOverwriteMode", "static").status == "served"
    assert outcome_of("the delta sink", "partitionOverwriteMode", "dynamic").status == "refused"
    assert outcome_of("the delta sink", "partitionOverwriteMode").status == "refused"
    # A purge deletes: what it does not know may name what to keep.
    with pytest.raises(
        InvalidInput, match=r"The purge has no option 'retentionperiod'. Did you mean retentionPeriod\? docs/"
    ):
        Options("the purge", {"retentionperiod": 1}, strict=True)


def test_a_line_of_a_script_says_it_once(caplog: pytest.LogCaptureFixture) -> None:
    lines = ["for _ in range(3):", "    make('the s3 source', {'speed': 1})", "make('the s3 source', {'speed': 1})"]
    with caplog.at_level(logging.INFO, "awsglue"):
        exec(compile("\n".join(lines), "/jobs/job.py", "exec"), {"make": Options, "__name__": "__main__"})
    assert [record.getMessage().partition(": ")[0] for record in caplog.records] == ["job.py, line 2", "job.py, line 3"]

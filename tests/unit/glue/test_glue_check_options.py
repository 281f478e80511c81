"""``penstock glue check`` and the options of a script: what its literal dictionaries and keywords say before it runs."""

import pytest

from penstock.glue.check.findings import Report
from penstock.glue.check.script import check_text

HEAD = """\
from awsglue.context import GlueContext
from pyspark.context import SparkContext
g = GlueContext(SparkContext.getOrCreate())
"""
LINES = HEAD.count("\n")


def check(text: str) -> Report:
    return check_text((HEAD + text).encode(), name="job.py")


def refused(text: str) -> dict[str, bool]:
    """Return the refused options, and whether every run is sure to be refused."""
    return {finding.name: finding.sure for finding in check(text).of_status("refused")}


def ignored(text: str) -> dict[str, str]:
    return {finding.name: finding.note for finding in check(text).of_status("ignored")}


UNKNOWN = "AWS does not document it, and ignores it, too."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("g.create_dynamic_frame.from_options('s3', {'paths': ['x'], 'gzip': True}, 'csv')", {"gzip": UNKNOWN}),
        ("o = {'gzip': 1}\ng.create_dynamic_frame.from_options('s3', o, format='csv')", {"gzip": UNKNOWN}),
        ("o = {'gzip': 1}\nf = lambda: 1\ng.getSource('s3', **o)", {"gzip": UNKNOWN}),
        ("g.getSource('s3', paths=['x'], gzip=True, transformation_ctx='x')", {"gzip": UNKNOWN}),
        (
            "def read(options):\n    return g.create_dynamic_frame_from_options('s3', options)\nread({'gzip': 1})",
            {"gzip": UNKNOWN},
        ),
    ],
)
def test_an_option_that_aws_ignores_is_said(text: str, expected: dict[str, str]) -> None:
    assert ignored(text) == {f'option "{name}" of the s3 source': note for name, note in expected.items()}
    assert refused(text) == {}


def test_the_line_is_that_of_the_option_and_names_what_was_meant() -> None:
    text = "g.create_dynamic_frame.from_options(\n    's3',\n    {'paths': []},\n    'csv',\n    {\n  'withheader': True})"
    (found,) = check(text).of_status("ignored")
    assert (found.line, found.name) == (LINES + 6, 'option "withheader" of the format csv')
    assert found.note == f"{UNKNOWN} Did you mean withHeader?"
    assert f"\nIgnored:\n  line {LINES + 6}: option" in check(text).text()
    assert check(text).document()["ignored"][0]["line"] == LINES + 6
    sink = "s = g.getSink(connection_type='s3', path='x', aws_iam_role='r', groupSize=1)\ns.setFormat('csv', seperator='|')"
    notes = ignored(sink)
    assert notes['option "aws_iam_role" of the s3 sink'].endswith("It is an option of the postgresql source.")
    assert notes['option "groupSize" of the s3 sink'] == "It has no effect here: It is for sources."
    assert notes['option "seperator" of the format csv'].endswith("Did you mean separator?")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("g.getSink('s3').setFormat('json', withSchema='x')", {'option "withSchema" of the format json': True}),
        (
            "g.create_dynamic_frame.from_options('mysql', {'customSchema': 'x'})",
            {'option "customSchema" of the mysql source': True},
        ),
        # What is under a name may have been changed, and what is in a branch may not be reached.
        (
            "o = {'customSchema': 'x'}\ng.create_dynamic_frame.from_options('mysql', o)",
            {'option "customSchema" of the mysql source': False},
        ),
        (
            "o = {}\ng.create_dynamic_frame.from_options('mysql', {**o, 'customSchema': 'x'})",
            {'option "customSchema" of the mysql source': False},
        ),
        (
            "if x:\n    g.create_dynamic_frame.from_options('mysql', {'customSchema': 'x'})",
            {'option "customSchema" of the mysql source': False},
        ),
        ("g.write_dynamic_frame.from_options(f, 'delta', {'path': 'x', 'partitionOverwriteMode': 'static'})", {}),
        (
            "g.write_dynamic_frame.from_options(f, 'delta', {'path': 'x', 'partitionOverwriteMode': mode()})",
            {'option "partitionOverwriteMode" of the delta sink': False},
        ),
        ("g.purge_s3_path('s3://b/x', {'retentionperiod': 1})", {'option "retentionperiod" of the purge': True}),
    ],
)
def test_an_option_that_is_refused_is_said_before_the_start(text: str, expected: dict[str, bool]) -> None:
    assert refused(text) == expected


def test_options_of_batches_are_checked() -> None:
    text = (
        "g.forEachBatch(frame=f, batch_function=p, options={'windowSize': '1 s', 'windowsize': 1, 'recordPollingLimit': 4})"
    )
    assert list(ignored(text)) == ['option "recordPollingLimit" of forEachBatch', 'option "windowsize" of forEachBatch']


def test_of_a_table_of_the_catalog_it_says_what_is_true_of_all_kinds() -> None:
    text = "g.create_dynamic_frame.from_catalog('d', 't', '', 'c', '', {'mergeSchema': 1, 'hashfield': 'a', 'nonsense': 1})"
    assert ignored(text) == {'option "nonsense"': UNKNOWN}
    text = "g.create_dynamic_frame.from_catalog(database='d', table_name='t', additional_options={'withSchema': 'x'})"
    assert refused(text) == {'option "withSchema"': False}
    text = "g.write_dynamic_frame.from_catalog(f, 'd', 't', '', 'c', {'partitionKeys': [], 'useCatalogSchema': True})"
    assert ignored(text) == {'option "useCatalogSchema"': f"{UNKNOWN} It is an option of the read of a table of csv."}
    text = "g.write_dynamic_frame.from_jdbc_conf(f, 'c', {'dbtable': 't', 'createTableOptions': 'x', 'speed': 1})"
    assert refused(text) == {'option "createTableOptions"': False}
    assert ignored(text) == {'option "speed"': UNKNOWN}


def test_the_parameters_of_samples_are_read_by_position() -> None:
    text = "g.create_sample_dynamic_frame_from_options('s3', {}, 5, {'maxSamplePartitions': '1'}, 'csv', {'withheader': 1})"
    assert list(ignored(text)) == ['option "withheader" of the format csv']
    named = "g.create_sample_dynamic_frame_from_options('s3', {}, 5, {'maxSamplePartitions': '1'}, format='csv')"
    assert ignored(named) == {}
    text = "g.create_sample_dynamic_frame_from_catalog('d', 't', 5, {'maxSamplePartitions': '1'}, '', '', '', {'speed': 1})"
    assert list(ignored(text)) == ['option "speed"']


def test_what_the_text_does_not_tell_is_not_guessed() -> None:
    text = "g.create_dynamic_frame.from_options(kind(), {'gzip': 1})\ng.create_dynamic_frame.from_options('s3', made())\n"
    assert (ignored(text), refused(text)) == ({}, {})

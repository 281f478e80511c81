"""Statements of Redshift's COPY and UNLOAD, held against the grammar and the examples of its Database Developer Guide."""

import json

import pytest

from penstock.client.databases.redshift import by_keys, by_role, copy_statement, manifest, unload_statement
from penstock.errors import InvalidInput

ROLE = "arn:aws:iam::0123456789012:role/MyRedshiftRole".replace("0123456789012", "012345678901")


def test_copy_loads_a_manifest_of_csv() -> None:
    given = {"null": "@n@", "region": "us-west-2", "more": "TRUNCATECOLUMNS MAXERROR 2;"}
    result = copy_statement('"public"."venue"', ['"id"', '"na""me"'], "s3://b/it's/manifest", by_role(ROLE), **given)
    # COPY table [column-list] FROM data_source authorization [[FORMAT] [AS] data_format] [parameter [argument] ...]
    assert result == (
        'COPY "public"."venue" ("id", "na""me") FROM \'s3://b/it\'\'s/manifest\' '
        "IAM_ROLE 'arn:aws:iam::012345678901:role/MyRedshiftRole' MANIFEST REGION AS 'us-west-2' "
        "FORMAT AS CSV NULL AS '@n@' GZIP DATEFORMAT 'auto' TIMEFORMAT 'auto' TRUNCATECOLUMNS MAXERROR 2"
    )
    # The manifest of the guide's page "Using a manifest to specify data files".
    assert json.loads(manifest(["s3://b/custdata-1", "s3://b/custdata-2"])) == {
        "entries": [
            {"url": "s3://b/custdata-1", "mandatory": True},
            {"url": "s3://b/custdata-2", "mandatory": True},
        ]
    }


def test_unload_writes_parquet() -> None:
    query = "SELECT * FROM venue WHERE city = 'Zug\\'"
    plain = unload_statement(query, "s3://b/p/", by_role("default"), double_backslashes=True, region=None, key=None, more="")
    # UNLOAD ('select-statement') TO 's3://object-path/name-prefix' authorization [option [...]]
    assert plain == (
        "UNLOAD ('SELECT * FROM venue WHERE city = ''Zug\\\\''') TO 's3://b/p/' IAM_ROLE default FORMAT AS PARQUET MANIFEST"
    )
    sealed = unload_statement(
        "SELECT 1", "s3://b/p/", "A", double_backslashes=False, region="eu-west-1", key="1234", more="MAXFILESIZE 10 MB"
    )
    assert sealed.endswith("MANIFEST REGION AS 'eu-west-1' KMS_KEY_ID '1234' ENCRYPTED MAXFILESIZE 10 MB")


def test_authorization_is_a_role_or_a_key() -> None:
    assert by_role(f"{ROLE},{ROLE}") == f"IAM_ROLE '{ROLE},{ROLE}'"
    assert by_keys("AKIA", "se/c+ret", None) == "ACCESS_KEY_ID 'AKIA' SECRET_ACCESS_KEY 'se/c+ret'"
    assert by_keys("ASIA", "s", "t==") == "ACCESS_KEY_ID 'ASIA' SECRET_ACCESS_KEY 's' SESSION_TOKEN 't=='"
    for role in ("MyRole", f"{ROLE}' FORMAT AS JSON", "arn:aws:iam::1:role/x"):
        with pytest.raises(InvalidInput, match="is not the ARN of a role"):
            by_role(role)
    with pytest.raises(InvalidInput, match="no AWS key has") as caught:
        by_keys("AKIA", "secret'; DROP TABLE t", None)
    assert "DROP" not in str(caught.value)

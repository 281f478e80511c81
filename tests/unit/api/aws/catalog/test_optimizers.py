"""Table optimizers' settings, and the account's one catalog, as boto3 sees them."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.unit.api.aws.loopback import ACCOUNT

HOME = {"CatalogId": ACCOUNT, "DatabaseName": "d", "TableName": "t", "Type": "compaction"}
SETTINGS = {
    "roleArn": f"arn:aws:iam::{ACCOUNT}:role/r",
    "enabled": True,
    "compactionConfiguration": {"icebergConfiguration": {"strategy": "sort", "minInputFiles": 5}},
}


@pytest.fixture
def iceberg(glue: Any) -> Any:
    glue.create_database(DatabaseInput={"Name": "d"})
    glue.create_table(DatabaseName="d", TableInput={"Name": "t", "Parameters": {"table_type": "ICEBERG"}})
    glue.create_table(DatabaseName="d", TableInput={"Name": "files"})
    return glue


def refused(call: Any, **arguments: Any) -> str:
    with pytest.raises(ClientError) as error:
        call(**arguments)
    return str(error.value.response["Error"]["Code"])


def test_settings_of_optimizers_are_kept_changed_and_deleted(iceberg: Any) -> None:
    assert refused(iceberg.get_table_optimizer, **HOME) == "EntityNotFoundException"
    iceberg.create_table_optimizer(**HOME, TableOptimizerConfiguration=SETTINGS)
    assert refused(iceberg.create_table_optimizer, **HOME, TableOptimizerConfiguration=SETTINGS) == "AlreadyExistsException"
    table_optimizer = iceberg.get_table_optimizer(**HOME)
    assert (table_optimizer["CatalogId"], table_optimizer["DatabaseName"], table_optimizer["TableName"]) == (
        ACCOUNT,
        "d",
        "t",
    )
    assert table_optimizer["TableOptimizer"] == {
        "type": "compaction", "configuration": SETTINGS, "configurationSource": "table"
    }  # fmt: skip
    iceberg.update_table_optimizer(**HOME, TableOptimizerConfiguration={"enabled": False})
    configuration = iceberg.get_table_optimizer(**HOME)["TableOptimizer"]["configuration"]
    assert configuration == {**SETTINGS, "enabled": False}
    assert iceberg.list_table_optimizer_runs(**HOME)["TableOptimizerRuns"] == []
    iceberg.delete_table_optimizer(**HOME)
    assert refused(iceberg.delete_table_optimizer, **HOME) == "EntityNotFoundException"
    assert refused(iceberg.list_table_optimizer_runs, **HOME) == "EntityNotFoundException"


def test_an_optimizer_is_for_an_iceberg_table(iceberg: Any) -> None:
    code = refused(iceberg.create_table_optimizer, **{**HOME, "TableName": "files"}, TableOptimizerConfiguration=SETTINGS)
    assert code == "InvalidInputException"


def test_optimizers_are_read_together_and_missing_ones_reported(iceberg: Any) -> None:
    iceberg.create_table_optimizer(**HOME, TableOptimizerConfiguration=SETTINGS)
    entry = {"catalogId": ACCOUNT, "databaseName": "d", "tableName": "t", "type": "compaction"}
    answer = iceberg.batch_get_table_optimizer(
        Entries=[entry, {**entry, "type": "retention"}, {**entry, "catalogId": "999999999999"}]
    )
    assert [table_optimizer["tableOptimizer"]["type"] for table_optimizer in answer["TableOptimizers"]] == ["compaction"]
    assert [failure["error"]["ErrorCode"] for failure in answer["Failures"]] == ["EntityNotFoundException"] * 2


def test_an_account_has_one_catalog_that_is_not_encrypted_by_kms(glue: Any) -> None:
    assert glue.get_catalog(CatalogId=ACCOUNT)["Catalog"]["ResourceArn"].endswith(f"{ACCOUNT}:catalog")
    assert refused(glue.get_catalog, CatalogId="999999999999") == "EntityNotFoundException"
    assert glue.get_catalogs()["CatalogList"] == []
    assert [catalog["CatalogId"] for catalog in glue.get_catalogs(IncludeRoot=True)["CatalogList"]] == [ACCOUNT]
    assert glue.get_catalog_import_status()["ImportStatus"]["ImportCompleted"] is True
    glue.import_catalog_to_glue()
    result = glue.get_data_catalog_encryption_settings()["DataCatalogEncryptionSettings"]
    glue.put_data_catalog_encryption_settings(DataCatalogEncryptionSettings=result)
    kms = {"EncryptionAtRest": {"CatalogEncryptionMode": "SSE-KMS"}}
    code = refused(glue.put_data_catalog_encryption_settings, DataCatalogEncryptionSettings=kms)
    assert code == "InvalidInputException"

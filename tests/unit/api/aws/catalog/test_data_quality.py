"""Data quality rulesets through boto3, as Terraform's aws_glue_data_quality_ruleset and Glue's console use them."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.unit.api.aws.every_operation import ACCOUNT

RULES = 'Rules = [ RowCount > 0, IsComplete "id", ColumnValues "n" between 1 and 9 ]'


@pytest.fixture
def quality(every_client: Callable[[str], Any]) -> Any:
    made = every_client("glue")
    made.create_database(DatabaseInput={"Name": "shop"})
    made.create_table(DatabaseName="shop", TableInput={"Name": "orders"})
    return made


def _code(call: Callable[..., Any], **arguments: Any) -> str:
    with pytest.raises(ClientError) as refused:
        call(**arguments)
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    return str(refused.value.response["Error"]["Code"])


def test_a_ruleset_is_made_read_changed_tagged_and_deleted(quality: Any) -> None:
    target = {"DatabaseName": "shop", "TableName": "orders"}
    made: dict[str, Any] = {"Name": "checks", "Ruleset": RULES, "Tags": {"team": "ops"}, "TargetTable": target}
    assert quality.create_data_quality_ruleset(**made, Description="d", ClientToken="t")["Name"] == "checks"
    assert quality.create_data_quality_ruleset(**made, ClientToken="t")["Name"] == "checks"
    assert _code(quality.create_data_quality_ruleset, **made) == "AlreadyExistsException"
    data_quality_ruleset = quality.get_data_quality_ruleset(Name="checks")
    assert (data_quality_ruleset["Ruleset"], data_quality_ruleset["TargetTable"], data_quality_ruleset["Description"]) == (
        RULES,
        target,
        "d",
    )
    arn = f"arn:aws:glue:us-east-1:{ACCOUNT}:dataQualityRuleset/checks"
    assert quality.get_tags(ResourceArn=arn)["Tags"] == {"team": "ops"}
    quality.tag_resource(ResourceArn=arn, TagsToAdd={"stage": "dev"})
    quality.untag_resource(ResourceArn=arn, TagsToRemove=["team"])
    changed = quality.update_data_quality_ruleset(Name="checks", Ruleset="Rules = [ RowCount > 9 ]")
    assert changed["Ruleset"] == "Rules = [ RowCount > 9 ]"
    (listed,) = quality.list_data_quality_rulesets(Tags={"stage": "dev"})["Rulesets"]
    assert (listed["Name"], listed["RuleCount"], listed["Description"]) == ("checks", 1, "d")
    quality.delete_data_quality_ruleset(Name="checks")
    assert _code(quality.get_data_quality_ruleset, Name="checks") == "EntityNotFoundException"


def test_rulesets_are_listed_page_by_page_by_what_is_asked(quality: Any) -> None:
    target = {"DatabaseName": "shop", "TableName": "orders"}
    for name in ("c", "a", "b"):
        about: dict[str, Any] = {"TargetTable": target} if name == "b" else {}
        quality.create_data_quality_ruleset(Name=name, Ruleset=RULES, **about)
    first = quality.list_data_quality_rulesets(MaxResults=2)
    rest = quality.list_data_quality_rulesets(MaxResults=2, NextToken=first["NextToken"])
    assert [ruleset["Name"] for ruleset in (*first["Rulesets"], *rest["Rulesets"])] == ["a", "b", "c"]

    def names(**asked: Any) -> list[str]:
        return [ruleset["Name"] for ruleset in quality.list_data_quality_rulesets(Filter=asked)["Rulesets"]]

    later, earlier = datetime.now(UTC) + timedelta(hours=1), datetime.now(UTC) - timedelta(hours=1)
    assert names(TargetTable=target) == ["b"]
    assert names(Name="c") == ["c"]
    assert names(CreatedAfter=later) == names(LastModifiedBefore=earlier) == []
    assert names(CreatedBefore=later, LastModifiedAfter=earlier) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"Ruleset": "Rules = [ NoSuchRule ]"}, "InvalidInputException"),
        ({"Ruleset": "Rules = ["}, "InvalidInputException"),
        ({"TargetTable": {"DatabaseName": "shop", "TableName": "nobody"}}, "EntityNotFoundException"),
        ({"Tags": {"aws:a": "b"}}, "InvalidInputException"),
    ],
)
def test_text_that_is_not_a_ruleset_is_refused(quality: Any, change: dict[str, Any], code: str) -> None:
    assert _code(quality.create_data_quality_ruleset, **{"Name": "checks", "Ruleset": RULES, **change}) == code


def test_an_evaluation_run_is_refused_by_its_name(quality: Any) -> None:
    source = {"GlueTable": {"DatabaseName": "shop", "TableName": "orders"}}
    run = quality.start_data_quality_ruleset_evaluation_run
    assert _code(run, DataSource=source, Role="r", RulesetNames=["checks"]) == "UnknownOperationException"

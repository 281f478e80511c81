"""Resource policies through boto3."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.api.aws.registry.registry_client import ACCOUNT, SCHEMA, refused

POLICY = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"glue:Get*","Resource":"*"}]}'


def test_resource_policies(stored: SimpleNamespace) -> None:
    glue = stored.glue
    refused(glue.get_resource_policy, "EntityNotFoundException", "Policy not found")
    refused(
        glue.put_resource_policy, "ConditionCheckFailureException", "has no resource policy",
        PolicyInJson=POLICY, PolicyExistsCondition="MUST_EXIST",
    )  # fmt: skip
    first = glue.put_resource_policy(PolicyInJson=POLICY, PolicyExistsCondition="NOT_EXIST")["PolicyHash"]
    refused(
        glue.put_resource_policy, "ConditionCheckFailureException", "has a resource policy",
        PolicyInJson=POLICY, PolicyExistsCondition="NOT_EXIST",
    )  # fmt: skip
    second = glue.put_resource_policy(PolicyInJson=POLICY.replace("Allow", "Deny"), PolicyHashCondition=first)["PolicyHash"]
    refused(
        glue.put_resource_policy, "ConditionCheckFailureException", "hash", PolicyInJson=POLICY, PolicyHashCondition=first
    )
    read = glue.get_resource_policy()
    assert (read["PolicyInJson"], read["PolicyHash"]) == (POLICY.replace("Allow", "Deny"), second)
    assert read["CreateTime"] <= read["UpdateTime"]
    glue.put_resource_policy(PolicyInJson=POLICY, ResourceArn=stored.arn)
    listed = glue.get_resource_policies(MaxResults=1)
    more = glue.get_resource_policies(NextToken=listed["NextToken"])["GetResourcePoliciesResponseList"]
    assert [item["PolicyHash"] for item in (*listed["GetResourcePoliciesResponseList"], *more)] == [second, first]
    refused(glue.delete_resource_policy, "ConditionCheckFailureException", "hash", PolicyHashCondition=first)
    glue.delete_resource_policy(PolicyHashCondition=second)
    refused(glue.delete_resource_policy, "EntityNotFoundException", "Policy not found")
    glue.delete_schema(SchemaId=SCHEMA)
    assert glue.get_resource_policies()["GetResourcePoliciesResponseList"] == []


@pytest.mark.parametrize("text", ["{}", "[]", "{{", '{"Statement": 1}', '{"Statement":[],"x":"' + "y" * 10_240 + '"}'])
def test_an_invalid_resource_policy_is_refused(glue: Any, text: str) -> None:
    refused(glue.put_resource_policy, "InvalidInputException", "policy", PolicyInJson=text)


def test_resource_policies_are_of_things_that_exist(glue: Any) -> None:
    for resource, code in ((f"arn:aws:glue:us-east-1:{ACCOUNT}:registry/x", "EntityNotFoundException"),):
        refused(glue.put_resource_policy, code, "registry/x", PolicyInJson=POLICY, ResourceArn=resource)

"""IAM's operations on a whole account through boto3: aliases, counts, details, service-linked roles, the simulator, tags."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from botocore.exceptions import ClientError

from tests.unit.api.aws.every_operation import ACCOUNT, DOCUMENT, TRUST

Client = Callable[[str], Any]


def _policy(effect: str, action: str, resource: str = "*", **more: Any) -> str:
    statement = {"Effect": effect, "Action": action, "Resource": resource, **more}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def _code(call: Callable[..., Any], **arguments: Any) -> str:
    with pytest.raises(ClientError) as refused:
        call(**arguments)
    assert 400 <= refused.value.response["ResponseMetadata"]["HTTPStatusCode"] < 500
    return str(refused.value.response["Error"]["Code"])


def test_an_account_has_one_alias(client: Client) -> None:
    iam = client("iam")
    assert iam.list_account_aliases()["AccountAliases"] == []
    iam.create_account_alias(AccountAlias="data-team")
    assert _code(iam.create_account_alias, AccountAlias="data-team") == "EntityAlreadyExists"
    iam.create_account_alias(AccountAlias="lake-team")
    assert iam.list_account_aliases()["AccountAliases"] == ["lake-team"]
    for wrong in ("ab", "a--b", "-ab", "ab-", "AB-C"):
        assert _code(iam.create_account_alias, AccountAlias=wrong) == "ValidationError"
    iam.delete_account_alias(AccountAlias="lake-team")
    assert _code(iam.delete_account_alias, AccountAlias="lake-team") == "NoSuchEntity"


@pytest.mark.parametrize("key", ["a(b)", "a;b", "a'b", "a\nb", "a<b>", "a&b"])
def test_tag_keys_outside_the_pattern_of_aws_are_refused(client: Client, key: str) -> None:
    iam = client("iam")
    assert _code(iam.create_user, UserName="ana", Tags=[{"Key": key, "Value": "v"}]) == "ValidationError"
    assert _code(iam.create_role, RoleName="r", AssumeRolePolicyDocument=TRUST, Tags=[{"Key": key, "Value": "v"}])
    iam.create_user(UserName="bob", Tags=[{"Key": "Kostenstelle für Größe_.:/=+-@", "Value": "日本 1"}])
    assert iam.list_user_tags(UserName="bob")["Tags"][0]["Value"] == "日本 1"


def test_everything_of_an_account_at_once(client: Client) -> None:
    iam = client("iam")
    iam.create_group(GroupName="readers")
    iam.put_group_policy(GroupName="readers", PolicyName="own", PolicyDocument=DOCUMENT)
    iam.create_user(UserName="ana", Tags=[{"Key": "team", "Value": "ops"}])
    iam.add_user_to_group(GroupName="readers", UserName="ana")
    iam.create_role(RoleName="etl", AssumeRolePolicyDocument=TRUST)
    iam.create_instance_profile(InstanceProfileName="machine")
    iam.add_role_to_instance_profile(InstanceProfileName="machine", RoleName="etl")
    policy = iam.create_policy(PolicyName="read", PolicyDocument=DOCUMENT)["Policy"]["Arn"]
    iam.attach_role_policy(RoleName="etl", PolicyArn=policy)
    iam.attach_role_policy(RoleName="etl", PolicyArn="arn:aws:iam::aws:policy/AdministratorAccess")
    result = iam.get_account_authorization_details()
    assert [(user_detail["UserName"], user_detail["GroupList"]) for user_detail in result["UserDetailList"]] == [
        ("ana", ["readers"])
    ]
    assert result["GroupDetailList"][0]["GroupPolicyList"][0]["PolicyName"] == "own"
    (role,) = result["RoleDetailList"]
    assert role["AssumeRolePolicyDocument"] == json.loads(TRUST)
    assert [instance_profile["InstanceProfileName"] for instance_profile in role["InstanceProfileList"]] == ["machine"]
    assert {item["PolicyName"] for item in result["Policies"]} == {"read", "AdministratorAccess"}
    assert result["Policies"][0]["PolicyVersionList"][0]["IsDefaultVersion"] is True
    pages = iam.get_paginator("get_account_authorization_details").paginate(
        Filter=["Role", "LocalManagedPolicy"], PaginationConfig={"PageSize": 1}
    )
    assert [len(page["RoleDetailList"]) + len(page["Policies"]) for page in pages] == [1, 1]
    summary = iam.get_account_summary()["SummaryMap"]
    counted = {name: summary[name] for name in ("Users", "Groups", "Roles", "Policies", "InstanceProfiles", "Providers")}
    assert counted == {"Users": 1, "Groups": 1, "Roles": 1, "Policies": 1, "InstanceProfiles": 1, "Providers": 0}


def test_only_its_own_operations_create_and_delete_a_service_linked_role(client: Client) -> None:
    iam = client("iam")
    role = iam.create_service_linked_role(AWSServiceName="lakeformation.amazonaws.com")["Role"]
    assert role["Arn"] == (
        f"arn:aws:iam::{ACCOUNT}:role/aws-service-role/lakeformation.amazonaws.com/AWSServiceRoleForLakeFormationDataAccess"
    )
    name = role["RoleName"]
    trusted = iam.get_role(RoleName=name)["Role"]["AssumeRolePolicyDocument"]["Statement"][0]["Principal"]
    assert trusted == {"Service": "lakeformation.amazonaws.com"}
    assert _code(iam.create_service_linked_role, AWSServiceName="lakeformation.amazonaws.com") == "InvalidInput"
    assert _code(iam.create_service_linked_role, AWSServiceName="nobody.amazonaws.com") == "InvalidInput"
    assert _code(iam.create_service_linked_role, AWSServiceName="kafka.amazonaws.com", CustomSuffix="x") == "InvalidInput"
    assert _code(iam.put_role_policy, RoleName=name, PolicyName="p", PolicyDocument=DOCUMENT) == "UnmodifiableEntity"
    assert _code(iam.update_assume_role_policy, RoleName=name, PolicyDocument=TRUST) == "UnmodifiableEntity"
    assert _code(iam.delete_role, RoleName=name) == "UnmodifiableEntity"
    path = "/aws-service-role/lakeformation.amazonaws.com/"
    assert _code(iam.create_role, RoleName="r", Path=path, AssumeRolePolicyDocument=TRUST) == "InvalidInput"
    iam.create_role(RoleName="plain", AssumeRolePolicyDocument=TRUST)
    assert _code(iam.delete_service_linked_role, RoleName="plain") == "NoSuchEntity"
    task = iam.delete_service_linked_role(RoleName=name)["DeletionTaskId"]
    assert iam.get_service_linked_role_deletion_status(DeletionTaskId=task)["Status"] == "SUCCEEDED"
    assert _code(iam.get_service_linked_role_deletion_status, DeletionTaskId="task/none") == "NoSuchEntity"


def _decisions(answer: Any) -> list[tuple[str, str]]:
    return [
        (evaluation_result["EvalActionName"], evaluation_result["EvalDecision"])
        for evaluation_result in answer["EvaluationResults"]
    ]


def test_a_principals_policies_are_simulated(client: Client) -> None:
    iam = client("iam")
    iam.create_group(GroupName="readers")
    lake = "arn:aws:s3:::lake/*"
    iam.put_group_policy(GroupName="readers", PolicyName="read", PolicyDocument=_policy("Allow", "s3:GetObject", lake))
    arn = iam.create_user(UserName="ana")["User"]["Arn"]
    iam.add_user_to_group(GroupName="readers", UserName="ana")
    iam.put_user_policy(
        UserName="ana", PolicyName="no", PolicyDocument=_policy("Deny", "s3:DeleteObject", "arn:aws:s3:::lake/kept")
    )
    simulate = iam.simulate_principal_policy
    actions = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"]
    answer = simulate(PolicySourceArn=arn, ActionNames=actions, ResourceArns=["arn:aws:s3:::lake/kept"])
    assert _decisions(answer) == [
        ("s3:GetObject", "allowed"), ("s3:PutObject", "implicitDeny"), ("s3:DeleteObject", "explicitDeny")
    ]  # fmt: skip
    assert answer["EvaluationResults"][0]["MatchedStatements"] == [{"SourcePolicyId": "read", "SourcePolicyType": "group"}]
    more = _policy("Allow", "s3:PutObject", Condition={"StringEquals": {"s3:x-amz-acl": "private"}})
    asked = {"PolicySourceArn": arn, "ActionNames": ["s3:PutObject"], "PolicyInputList": [more]}
    missing = simulate(**asked)["EvaluationResults"][0]
    assert (missing["EvalDecision"], missing["MissingContextValues"]) == ("implicitDeny", ["s3:x-amz-acl"])
    entry = {"ContextKeyName": "s3:x-amz-acl", "ContextKeyType": "string", "ContextKeyValues": ["private"]}
    assert _decisions(simulate(**asked, ContextEntries=[entry])) == [("s3:PutObject", "allowed")]
    bound = simulate(**asked, ContextEntries=[entry], PermissionsBoundaryPolicyInputList=[_policy("Allow", "glue:*")])
    (found,) = bound["EvaluationResults"]
    assert found["EvalDecision"] == "implicitDeny"
    assert found["PermissionsBoundaryDecisionDetail"] == {"AllowedByPermissionsBoundary": False}


def test_given_policies_are_simulated_page_by_page(client: Client) -> None:
    iam = client("iam")
    given = {"PolicyInputList": [_policy("Allow", "glue:Get*")], "ActionNames": ["glue:GetTable", "glue:DeleteTable"]}
    expected = [("glue:GetTable", "allowed"), ("glue:DeleteTable", "implicitDeny")]
    assert _decisions(iam.simulate_custom_policy(**given)) == expected
    pages = iam.get_paginator("simulate_custom_policy").paginate(**given, PaginationConfig={"PageSize": 1})
    assert [pair for page in pages for pair in _decisions(page)] == expected
    variable = "arn:aws:s3:::home/${aws:username}/*"
    answer = iam.simulate_custom_policy(
        PolicyInputList=[_policy("Allow", "s3:GetObject", variable)],
        ActionNames=["s3:GetObject"],
        CallerArn=f"arn:aws:iam::{ACCOUNT}:user/ana",
        ResourceArns=["arn:aws:s3:::home/ana/x", "arn:aws:s3:::home/bob/x"],
    )
    assert [evaluation_result["EvalDecision"] for evaluation_result in answer["EvaluationResults"]] == [
        "allowed",
        "implicitDeny",
    ]
    assert _code(iam.simulate_custom_policy, **{**given, "ActionNames": ["nonsense"]}) == "InvalidInput"
    assert _code(iam.simulate_custom_policy, **{**given, "PolicyInputList": ["{"]}) == "MalformedPolicyDocument"
    many = [f"glue:Get{number}" for number in range(1_001)]
    assert _code(iam.simulate_custom_policy, **{**given, "ActionNames": many}) == "InvalidInput"
    nobody = f"arn:aws:iam::{ACCOUNT}:user/nobody"
    principal = iam.simulate_principal_policy
    assert _code(principal, PolicySourceArn=nobody, ActionNames=["glue:GetTable"]) == "NoSuchEntity"
    assert _code(principal, PolicySourceArn=quote("arn:aws:s3:::lake"), ActionNames=["glue:GetTable"]) == "InvalidInput"

"""IAM's operations through boto3: answers, pages, errors and quotas, as in AWS."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from penstock.testing.server import RunningServer, running_server
from tests.integration.accounts.accounts_world import Identity, allow, policy

READ = policy(allow("glue:Get*", "*"))
ADMINISTRATOR = "arn:aws:iam::aws:policy/AdministratorAccess"


def refused(code: str, status: int, call: Any, **arguments: Any) -> str:
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    response = caught.value.response
    assert (response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]) == (code, status)
    return str(response["Error"]["Message"])


def test_users_and_their_keys(iam: Any, server: RunningServer) -> None:
    made = iam.create_user(UserName="ana", Path="/team/", Tags=[{"Key": "team", "Value": "data"}])["User"]
    assert made["Arn"] == f"arn:aws:iam::{server.account}:user/team/ana"
    assert made["UserId"].startswith("AIDA")
    assert iam.get_user(UserName="ANA")["User"] == made
    assert "already exists" in refused("EntityAlreadyExists", 409, iam.create_user, UserName="Ana")
    assert "cannot be found" in refused("NoSuchEntity", 404, iam.get_user, UserName="nobody")
    first, second = (iam.create_access_key(UserName="ana")["AccessKey"] for _ in range(2))
    assert "AccessKeysPerUser: 2" in refused("LimitExceeded", 409, iam.create_access_key, UserName="ana")
    iam.update_access_key(UserName="ana", AccessKeyId=second["AccessKeyId"], Status="Inactive")
    listed = iam.list_access_keys(UserName="ana")["AccessKeyMetadata"]
    assert {key["AccessKeyId"]: key["Status"] for key in listed} == {
        first["AccessKeyId"]: "Active",
        second["AccessKeyId"]: "Inactive",
    }
    assert all("SecretAccessKey" not in key for key in listed)
    own = server.client("iam", aws_access_key_id=first["AccessKeyId"], aws_secret_access_key=first["SecretAccessKey"])
    assert "because no identity-based policy allows the iam:GetUser action" in refused("AccessDenied", 403, own.get_user)
    iam.put_user_policy(
        UserName="ana",
        PolicyName="self",
        PolicyDocument=policy(allow("iam:GetUser", f"arn:aws:iam::{server.account}:user/team/${{aws:username}}")),
    )
    assert own.get_user()["User"]["UserName"] == "ana"
    assert "must delete access keys first" in refused("DeleteConflict", 409, iam.delete_user, UserName="ana")
    for key in (first, second):
        iam.delete_access_key(UserName="ana", AccessKeyId=key["AccessKeyId"])
    refused("NoSuchEntity", 404, iam.delete_access_key, UserName="ana", AccessKeyId=first["AccessKeyId"])
    assert "must delete policies first" in refused("DeleteConflict", 409, iam.delete_user, UserName="ana")
    iam.delete_user_policy(UserName="ana", PolicyName="self")
    iam.delete_user(UserName="ana")
    refused("InvalidClientTokenId", 403, own.get_user)


def test_a_user_takes_only_keys_of_its_own(iam: Any) -> None:
    iam.create_user(UserName="one")
    iam.create_user(UserName="two")
    key = iam.create_access_key(UserName="two")["AccessKey"]
    refused("NoSuchEntity", 404, iam.update_access_key, UserName="one", AccessKeyId=key["AccessKeyId"], Status="Inactive")
    refused("NoSuchEntity", 404, iam.delete_access_key, UserName="one", AccessKeyId=key["AccessKeyId"])


def test_a_new_user_of_the_same_name_has_no_rights_and_keys_of_the_old_one(iam: Any, server: RunningServer) -> None:
    iam.create_user(UserName="again")
    iam.attach_user_policy(UserName="again", PolicyArn=ADMINISTRATOR)
    key = iam.create_access_key(UserName="again")["AccessKey"]
    glue = server.client("glue", aws_access_key_id=key["AccessKeyId"], aws_secret_access_key=key["SecretAccessKey"])
    glue.list_registries()
    given = server.client(
        "sts", aws_access_key_id=key["AccessKeyId"], aws_secret_access_key=key["SecretAccessKey"]
    ).get_session_token()["Credentials"]
    session = {
        "aws_access_key_id": given["AccessKeyId"],
        "aws_secret_access_key": given["SecretAccessKey"],
        "aws_session_token": given["SessionToken"],
    }
    server.client("glue", **session).list_registries()
    refused("InvalidClientTokenId", 403, server.client("iam", **session).list_users)
    iam.delete_access_key(UserName="again", AccessKeyId=key["AccessKeyId"])
    iam.detach_user_policy(UserName="again", PolicyArn=ADMINISTRATOR)
    iam.delete_user(UserName="again")
    iam.create_user(UserName="again")
    iam.attach_user_policy(UserName="again", PolicyArn=ADMINISTRATOR)
    refused("UnrecognizedClientException", 400, server.client("glue", **session).list_registries)
    assert iam.list_access_keys(UserName="again")["AccessKeyMetadata"] == []


def test_a_user_has_no_other_kinds_of_credentials(iam: Any) -> None:
    # The calls of Terraform's aws_iam_user with force_destroy, in its order.
    iam.create_user(UserName="leaver")
    key = iam.create_access_key(UserName="leaver")["AccessKey"]["AccessKeyId"]
    assert iam.list_groups_for_user(UserName="leaver")["Groups"] == []
    assert [item["AccessKeyId"] for item in iam.list_access_keys(UserName="leaver")["AccessKeyMetadata"]] == [key]
    iam.delete_access_key(UserName="leaver", AccessKeyId=key)
    assert iam.list_ssh_public_keys(UserName="leaver")["SSHPublicKeys"] == []
    assert iam.list_virtual_mfa_devices(AssignmentStatus="Assigned")["VirtualMFADevices"] == []
    assert iam.list_mfa_devices(UserName="leaver")["MFADevices"] == []
    refused("NoSuchEntity", 404, iam.get_login_profile, UserName="leaver")
    refused("NoSuchEntity", 404, iam.delete_login_profile, UserName="leaver")
    assert iam.list_signing_certificates(UserName="leaver")["Certificates"] == []
    assert iam.list_service_specific_credentials(UserName="leaver")["ServiceSpecificCredentials"] == []
    iam.delete_user(UserName="leaver")
    for listed in (iam.list_mfa_devices, iam.list_ssh_public_keys, iam.list_signing_certificates):
        refused("NoSuchEntity", 404, listed, UserName="leaver")


def test_roles(iam: Any, server: RunningServer) -> None:
    trust = {"Effect": "Allow", "Principal": {"AWS": server.account}, "Action": "sts:AssumeRole"}
    made = iam.create_role(
        RoleName="reader", AssumeRolePolicyDocument=policy(trust), Description="d", MaxSessionDuration=7200
    )["Role"]
    assert made["AssumeRolePolicyDocument"] == json.loads(policy(trust))
    assert (made["Description"], made["MaxSessionDuration"]) == ("d", 7200)
    message = refused(
        "MalformedPolicyDocument", 400, iam.create_role, RoleName="x", AssumeRolePolicyDocument=policy(allow("a:b", "*"))
    )
    assert "Statement[0] has the member 'Resource'" in message
    iam.update_role(RoleName="reader", MaxSessionDuration=3600)
    trust["Principal"] = {"AWS": "111122223333"}
    iam.update_assume_role_policy(RoleName="reader", PolicyDocument=policy(trust))
    result = iam.get_role(RoleName="reader")["Role"]
    assert (result["MaxSessionDuration"], result["Description"]) == (3600, "d")
    assert result["AssumeRolePolicyDocument"]["Statement"][0]["Principal"] == {"AWS": "111122223333"}
    described = iam.update_role_description(RoleName="reader", Description="by Terraform")["Role"]
    assert (described["Description"], described["MaxSessionDuration"]) == ("by Terraform", 3600)
    refused("NoSuchEntity", 404, iam.update_role_description, RoleName="none", Description="")
    iam.put_role_policy(RoleName="reader", PolicyName="read", PolicyDocument=READ)
    assert iam.get_role_policy(RoleName="reader", PolicyName="read")["PolicyDocument"] == json.loads(READ)
    assert iam.list_role_policies(RoleName="reader")["PolicyNames"] == ["read"]
    refused("DeleteConflict", 409, iam.delete_role, RoleName="reader")
    iam.delete_role_policy(RoleName="reader", PolicyName="read")
    refused("NoSuchEntity", 404, iam.get_role_policy, RoleName="reader", PolicyName="read")
    iam.tag_role(RoleName="reader", Tags=[{"Key": "a", "Value": "b"}])
    assert iam.list_role_tags(RoleName="reader")["Tags"] == [{"Key": "a", "Value": "b"}]
    iam.untag_role(RoleName="reader", TagKeys=["a"])
    assert iam.list_role_tags(RoleName="reader")["Tags"] == []
    iam.delete_role(RoleName="reader")


def test_managed_policies_and_their_versions(iam: Any, server: RunningServer) -> None:
    made = iam.create_policy(PolicyName="read", Path="/x/", PolicyDocument=READ)["Policy"]
    arn = made["Arn"]
    assert (arn, made["DefaultVersionId"]) == (f"arn:aws:iam::{server.account}:policy/x/read", "v1")
    write = policy(allow("glue:*", "*"))
    assert iam.create_policy_version(PolicyArn=arn, PolicyDocument=write)["PolicyVersion"]["IsDefaultVersion"] is False
    assert iam.get_policy_version(PolicyArn=arn, VersionId="v2")["PolicyVersion"]["Document"] == json.loads(write)
    iam.set_default_policy_version(PolicyArn=arn, VersionId="v2")
    for _ in range(3):
        iam.create_policy_version(PolicyArn=arn, PolicyDocument=write, SetAsDefault=True)
    assert "up to 5 versions" in refused(
        "LimitExceeded", 409, iam.create_policy_version, PolicyArn=arn, PolicyDocument=write
    )
    refused("DeleteConflict", 409, iam.delete_policy_version, PolicyArn=arn, VersionId="v5")
    listed = iam.list_policy_versions(PolicyArn=arn)["Versions"]
    assert [(item["VersionId"], item["IsDefaultVersion"]) for item in listed][:2] == [("v5", True), ("v4", False)]
    iam.create_user(UserName="held")
    iam.attach_user_policy(UserName="held", PolicyArn=arn)
    assert iam.get_policy(PolicyArn=arn)["Policy"]["AttachmentCount"] == 1
    assert [user["UserName"] for user in iam.list_entities_for_policy(PolicyArn=arn)["PolicyUsers"]] == ["held"]
    assert iam.list_attached_user_policies(UserName="held")["AttachedPolicies"] == [{"PolicyName": "read", "PolicyArn": arn}]
    assert "attached to entities" in refused("DeleteConflict", 409, iam.delete_policy, PolicyArn=arn)
    iam.detach_user_policy(UserName="held", PolicyArn=arn)
    assert "more than one version" in refused("DeleteConflict", 409, iam.delete_policy, PolicyArn=arn)
    for number in range(1, 5):
        iam.delete_policy_version(PolicyArn=arn, VersionId=f"v{number}")
    iam.delete_policy(PolicyArn=arn)
    refused("NoSuchEntity", 404, iam.get_policy, PolicyArn=arn)
    refused("NoSuchEntity", 404, iam.attach_user_policy, UserName="held", PolicyArn=arn)
    refused("NoSuchEntity", 404, iam.delete_policy, PolicyArn=ADMINISTRATOR)


def test_policies_of_aws_for_jobs_and_crawlers_can_be_attached(iam: Any, server: RunningServer) -> None:
    # What examples of Terraform and of Glue's developer guide attach to the role of a job or crawler.
    arn = "arn:aws:iam::aws:policy/service-role/AWSGlueServiceRole"
    trust = {"Effect": "Allow", "Principal": {"AWS": server.account}, "Action": "sts:AssumeRole"}
    role = iam.create_role(RoleName="job", AssumeRolePolicyDocument=policy(trust))["Role"]
    iam.attach_role_policy(RoleName="job", PolicyArn=arn)
    iam.create_user(UserName="scheduler")
    iam.attach_user_policy(UserName="scheduler", PolicyArn=ADMINISTRATOR)
    scheduler = Identity(server, iam.create_access_key(UserName="scheduler")["AccessKey"])
    job = scheduler.assume(role["Arn"])
    job.client("glue").create_database(DatabaseInput={"Name": "jobs"})
    refused("AccessDenied", 403, job.client("iam").list_roles)
    result = iam.get_policy(PolicyArn=arn)["Policy"]
    assert (result["Path"], result["PolicyName"]) == ("/service-role/", "AWSGlueServiceRole")
    assert [item["Arn"] for item in iam.list_policies(Scope="AWS", PathPrefix="/service-role/")["Policies"]] == [arn]
    for attached in ("AmazonS3FullAccess", "AmazonS3ReadOnlyAccess"):
        iam.attach_role_policy(RoleName="job", PolicyArn=f"arn:aws:iam::aws:policy/{attached}")
    other = {"RoleName": "job", "PolicyArn": "arn:aws:iam::aws:policy/PowerUserAccess"}
    assert "create others by CreatePolicy" in refused("NoSuchEntity", 404, iam.attach_role_policy, **other)


def test_lists_come_in_pages(iam: Any) -> None:
    for number in range(5):
        iam.create_user(UserName=f"page-{number}", Path="/paged/")
    pages = list(iam.get_paginator("list_users").paginate(PathPrefix="/paged/", PaginationConfig={"PageSize": 2}))
    assert [[user["UserName"] for user in page["Users"]] for page in pages] == [
        ["page-0", "page-1"],
        ["page-2", "page-3"],
        ["page-4"],
    ]
    names = [item["PolicyName"] for item in iam.list_policies(Scope="AWS")["Policies"]]
    assert "AWSGlueSchemaRegistryReadonlyAccess" in names


def test_too_large_or_malformed_policies_are_refused_and_change_nothing(iam: Any) -> None:
    iam.create_user(UserName="bounded")
    long = policy(allow("glue:Get*", [f"arn:aws:glue:*:*:schema/{number:050}" for number in range(40)]))
    put = {"UserName": "bounded", "PolicyName": "p"}
    assert "Maximum policy size of 2048" in refused("LimitExceeded", 409, iam.put_user_policy, **put, PolicyDocument=long)
    for text in ("{", "[" * 2_000, policy({"Effect": "Allow"}), policy(allow("glue", "*"))):
        assert "malformed" in refused("MalformedPolicyDocument", 400, iam.put_user_policy, **put, PolicyDocument=text)
    assert iam.list_user_policies(UserName="bounded")["PolicyNames"] == []
    for _ in range(2):
        iam.attach_user_policy(UserName="bounded", PolicyArn=ADMINISTRATOR)
    assert len(iam.list_attached_user_policies(UserName="bounded")["AttachedPolicies"]) == 1


def test_operations_that_are_not_served_are_refused_by_name(iam: Any, server: RunningServer) -> None:
    assert "does not serve yet" in refused("InvalidAction", 400, iam.generate_credential_report)
    assert "dynamodb is a service of AWS that" in refused(
        "UnknownOperationException", 400, server.client("dynamodb").list_tables
    )
    assert "s3 is a service of AWS that" in refused("NotImplemented", 501, server.client("s3").list_objects_v2, Bucket="b")
    sts = server.client("sts")
    role = f"arn:aws:iam::{server.account}:role/r"
    message = refused(
        "ValidationError", 400, sts.assume_role, RoleArn=role, RoleSessionName="job", Tags=[{"Key": "a", "Value": "b"}]
    )
    assert "Tags (at 'tags') is a member of AssumeRole that Penstock does not serve" in message
    message = refused("ValidationError", 400, sts.assume_role, RoleArn="arn:aws:s3:::a-bucket", RoleSessionName="job")
    assert "is invalid" in message


def test_only_the_first_account_creates_accounts(server: RunningServer) -> None:
    organizations = server.client("organizations")
    made = organizations.create_account(AccountName="b", Email="b@example.com")["CreateAccountStatus"]
    assert made["State"] == "SUCCEEDED"
    result = organizations.describe_create_account_status(CreateAccountRequestId=made["Id"])["CreateAccountStatus"]
    assert result["AccountId"] == made["AccountId"]
    listed = organizations.list_accounts()["Accounts"]
    assert {server.account, made["AccountId"]} <= {account["Id"] for account in listed}
    role = f"arn:aws:iam::{made['AccountId']}:role/OrganizationAccountAccessRole"
    given = server.client("sts").assume_role(RoleArn=role, RoleSessionName="admin")["Credentials"]
    theirs = server.client(
        "organizations",
        aws_access_key_id=given["AccessKeyId"],
        aws_secret_access_key=given["SecretAccessKey"],
        aws_session_token=given["SessionToken"],
    )
    refused("AccessDeniedException", 400, theirs.create_account, AccountName="c", Email="c@example.com")
    refused("AccessDeniedException", 400, theirs.list_accounts)
    refused("AccessDeniedException", 400, theirs.list_roots)
    refused("AccessDeniedException", 400, theirs.list_policies, Filter="SERVICE_CONTROL_POLICY")
    known = organizations.describe_organization()["Organization"]
    assert theirs.describe_organization()["Organization"] == known


def test_the_organization_is_read_as_a_tree(server: RunningServer) -> None:
    organizations = server.client("organizations")
    made = organizations.create_account(AccountName="leaf", Email="leaf@example.com")["CreateAccountStatus"]["AccountId"]
    organization = organizations.describe_organization()["Organization"]
    assert (organization["MasterAccountId"], organization["FeatureSet"]) == (server.account, "CONSOLIDATED_BILLING")
    (root,) = organizations.list_roots()["Roots"]
    assert root["Arn"] == f"arn:aws:organizations::{server.account}:root/{organization['Id']}/{root['Id']}"
    everyone = organizations.list_accounts()["Accounts"]
    assert organizations.list_accounts_for_parent(ParentId=root["Id"])["Accounts"] == everyone
    pages = organizations.get_paginator("list_children").paginate(
        ParentId=root["Id"], ChildType="ACCOUNT", PaginationConfig={"PageSize": 1}
    )
    assert [child["Id"] for page in pages for child in page["Children"]] == [account["Id"] for account in everyone]
    assert organizations.list_children(ParentId=root["Id"], ChildType="ORGANIZATIONAL_UNIT")["Children"] == []
    assert organizations.list_parents(ChildId=made)["Parents"] == [{"Id": root["Id"], "Type": "ROOT"}]
    assert organizations.list_organizational_units_for_parent(ParentId=root["Id"])["OrganizationalUnits"] == []
    assert organizations.list_policies(Filter="SERVICE_CONTROL_POLICY")["Policies"] == []
    target = {"TargetId": made, "Filter": "SERVICE_CONTROL_POLICY"}
    assert organizations.list_policies_for_target(**target)["Policies"] == []
    assert organizations.list_delegated_administrators()["DelegatedAdministrators"] == []
    assert organizations.list_aws_service_access_for_organization()["EnabledServicePrincipals"] == []
    statuses = organizations.list_create_account_status(States=["SUCCEEDED"])["CreateAccountStatuses"]
    assert made in {status["AccountId"] for status in statuses}
    assert server.account not in {status["AccountId"] for status in statuses}
    assert organizations.list_create_account_status(States=["FAILED"])["CreateAccountStatuses"] == []
    nobody, unit = "999999999999", "ou-abcd-12345678"
    refused("ParentNotFoundException", 400, organizations.list_accounts_for_parent, ParentId="r-none")
    refused("ParentNotFoundException", 400, organizations.list_children, ParentId=unit, ChildType="ACCOUNT")
    refused("ChildNotFoundException", 400, organizations.list_parents, ChildId=nobody)
    refused("TargetNotFoundException", 400, organizations.list_policies_for_target, **target | {"TargetId": nobody})
    refused(
        "OrganizationalUnitNotFoundException", 400, organizations.describe_organizational_unit, OrganizationalUnitId=unit
    )
    refused("PolicyNotFoundException", 400, organizations.describe_policy, PolicyId="p-12345678")
    refused("AccountNotFoundException", 400, organizations.describe_account, AccountId=nobody)


def test_iam_is_the_same_in_all_regions() -> None:
    with running_server(arguments=["--region", "eu-west-1"]) as server:
        # botocore signs for us-east-1 with IAM's own endpoint, and for the client's region with another endpoint.
        for region in ("us-east-1", "eu-west-1"):
            for service, call in (("iam", "list_users"), ("sts", "get_caller_identity")):
                getattr(server.client(service, region_name=region), call)()
            assert server.client("organizations", region_name=region).list_accounts()["Accounts"]
        refused("SignatureDoesNotMatch", 403, server.client("iam", region_name="eu-west-2").list_users)
        message = refused("InvalidSignatureException", 400, server.client("glue", region_name="us-east-1").list_registries)
        assert "AWS_REGION=eu-west-1" in message

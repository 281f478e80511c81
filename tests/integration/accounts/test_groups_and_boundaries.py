"""Groups, permissions boundaries and instance profiles through boto3: what they grant, limit, list and refuse."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from penstock.testing.server import RunningServer
from tests.integration.accounts.accounts_world import Identity, allow, policy

ADMINISTRATOR = "arn:aws:iam::aws:policy/AdministratorAccess"
READ = "arn:aws:iam::aws:policy/AWSGlueSchemaRegistryReadonlyAccess"


def user(server: RunningServer, name: str, **more: Any) -> Identity:
    iam = server.client("iam")
    iam.create_user(UserName=name, **more)
    return Identity(server, iam.create_access_key(UserName=name)["AccessKey"])


def refused(call: Any, **arguments: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


def test_a_groups_policies_apply_to_its_users(server: RunningServer, iam: Any) -> None:
    ana = user(server, "ana")
    made = iam.create_group(GroupName="Readers", Path="/team/")["Group"]
    assert made["Arn"] == f"arn:aws:iam::{server.account}:group/team/Readers"
    assert made["GroupId"].startswith("AGPA")
    assert refused(iam.create_group, GroupName="readers")[0] == "EntityAlreadyExists"
    assert refused(ana.client("glue").list_registries)[0] == "AccessDeniedException"
    iam.attach_group_policy(GroupName="Readers", PolicyArn=READ)
    iam.add_user_to_group(GroupName="readers", UserName="ana")
    ana.client("glue").list_registries()
    assert refused(ana.client("glue").create_registry, RegistryName="x")[0] == "AccessDeniedException"
    iam.put_group_policy(GroupName="Readers", PolicyName="write", PolicyDocument=policy(allow("glue:CreateRegistry", "*")))
    ana.client("glue").create_registry(RegistryName="x")
    assert iam.list_group_policies(GroupName="Readers")["PolicyNames"] == ["write"]
    assert iam.list_attached_group_policies(GroupName="Readers")["AttachedPolicies"][0]["PolicyArn"] == READ
    assert [group["GroupName"] for group in iam.list_groups_for_user(UserName="ana")["Groups"]] == ["Readers"]
    result = iam.get_group(GroupName="Readers")
    assert (result["Group"], [item["UserName"] for item in result["Users"]]) == (made, ["ana"])
    assert [group["GroupName"] for group in iam.list_groups(PathPrefix="/team/")["Groups"]] == ["Readers"]
    assert [policy_group["GroupName"] for policy_group in iam.list_entities_for_policy(PolicyArn=READ)["PolicyGroups"]] == [
        "Readers"
    ]
    assert iam.get_policy(PolicyArn=READ)["Policy"]["AttachmentCount"] == 1
    assert refused(iam.delete_group, GroupName="Readers") == (
        "DeleteConflict",
        "Cannot delete entity, must remove users from group first.",
    )
    iam.delete_access_key(UserName="ana", AccessKeyId=ana.credentials["AccessKeyId"])
    assert refused(iam.delete_user, UserName="ana")[0] == "DeleteConflict"
    iam.remove_user_from_group(GroupName="Readers", UserName="ana")
    iam.delete_user(UserName="ana")
    assert "must delete policies first" in refused(iam.delete_group, GroupName="Readers")[1]
    iam.delete_group_policy(GroupName="Readers", PolicyName="write")
    iam.detach_group_policy(GroupName="Readers", PolicyArn=READ)
    iam.delete_group(GroupName="Readers")
    assert refused(iam.get_group, GroupName="Readers")[0] == "NoSuchEntity"


def test_leaving_a_group_ends_its_rights_at_once(server: RunningServer, iam: Any) -> None:
    ben = user(server, "ben")
    iam.create_group(GroupName="short")
    iam.attach_group_policy(GroupName="short", PolicyArn=ADMINISTRATOR)
    iam.add_user_to_group(GroupName="short", UserName="ben")
    ben.client("glue").list_registries()
    iam.remove_user_from_group(GroupName="short", UserName="ben")
    assert refused(ben.client("glue").list_registries)[0] == "AccessDeniedException"
    assert refused(iam.remove_user_from_group, GroupName="short", UserName="ben")[0] == "NoSuchEntity"
    assert refused(iam.add_user_to_group, GroupName="none", UserName="ben")[0] == "NoSuchEntity"


def test_a_user_is_in_ten_groups_at_most(server: RunningServer, iam: Any) -> None:
    iam.create_user(UserName="joiner")
    for number in range(11):
        iam.create_group(GroupName=f"many-{number}")
    for number in range(10):
        iam.add_user_to_group(GroupName=f"many-{number}", UserName="joiner")
    iam.add_user_to_group(GroupName="many-0", UserName="joiner")
    assert refused(iam.add_user_to_group, GroupName="many-10", UserName="joiner")[0] == "LimitExceeded"
    pages = iam.get_paginator("list_groups_for_user").paginate(UserName="joiner", PaginationConfig={"PageSize": 4})
    assert [len(page["Groups"]) for page in pages] == [4, 4, 2]


def test_a_boundary_limits_what_policies_allow(server: RunningServer, iam: Any) -> None:
    bound = iam.create_policy(PolicyName="bound", PolicyDocument=policy(allow("glue:List*", "*")))["Policy"]["Arn"]
    eve = user(server, "eve", PermissionsBoundary=bound)
    assert refused(eve.client("glue").list_registries)[0] == "AccessDeniedException"  # a boundary grants nothing
    iam.attach_user_policy(UserName="eve", PolicyArn=ADMINISTRATOR)
    eve.client("glue").list_registries()
    code, message = refused(eve.client("glue").create_registry, RegistryName="y")
    assert (code, message.endswith("because no permissions boundary allows the glue:CreateRegistry action")) == (
        "AccessDeniedException",
        True,
    )
    result = iam.get_user(UserName="eve")["User"]["PermissionsBoundary"]
    assert result == {"PermissionsBoundaryType": "Policy", "PermissionsBoundaryArn": bound}
    assert iam.get_policy(PolicyArn=bound)["Policy"]["PermissionsBoundaryUsageCount"] == 1
    users = iam.list_entities_for_policy(PolicyArn=bound, PolicyUsageFilter="PermissionsBoundary")["PolicyUsers"]
    assert [item["UserName"] for item in users] == ["eve"]
    assert iam.list_entities_for_policy(PolicyArn=bound, PolicyUsageFilter="PermissionsPolicy")["PolicyUsers"] == []
    only = iam.list_policies(PolicyUsageFilter="PermissionsBoundary")["Policies"]
    assert [item["Arn"] for item in only] == [bound]
    assert refused(iam.delete_policy, PolicyArn=bound)[0] == "DeleteConflict"
    iam.put_user_permissions_boundary(UserName="eve", PermissionsBoundary=READ)
    assert refused(eve.client("iam").list_users)[0] == "AccessDenied"
    iam.delete_user_permissions_boundary(UserName="eve")
    eve.client("iam").list_users()
    missing = f"arn:aws:iam::{server.account}:policy/missing"
    for call, more in (
        (iam.put_user_permissions_boundary, {"UserName": "eve"}),
        (iam.create_user, {"UserName": "never"}),
    ):
        assert refused(call, PermissionsBoundary=missing, **more)[0] == "NoSuchEntity"
    assert refused(iam.get_user, UserName="never")[0] == "NoSuchEntity"


def test_a_boundary_limits_a_roles_sessions(server: RunningServer, iam: Any) -> None:
    trust = policy({"Effect": "Allow", "Principal": {"AWS": server.account}, "Action": "sts:AssumeRole"})
    role = iam.create_role(RoleName="bounded", AssumeRolePolicyDocument=trust, PermissionsBoundary=READ)["Role"]
    assert role["PermissionsBoundary"]["PermissionsBoundaryArn"] == READ
    iam.attach_role_policy(RoleName="bounded", PolicyArn=ADMINISTRATOR)
    root = Identity(
        server, {"AccessKeyId": server.access_key_id, "SecretAccessKey": server.secret_access_key, "SessionToken": None}
    )
    session = root.assume(role["Arn"])
    session.client("glue").list_registries()
    assert refused(session.client("iam").list_users)[0] == "AccessDenied"
    iam.delete_role_permissions_boundary(RoleName="bounded")
    session.client("iam").list_users()
    iam.put_role_permissions_boundary(RoleName="bounded", PermissionsBoundary=READ)
    assert refused(session.client("iam").list_users)[0] == "AccessDenied"


def test_instance_profiles_are_containers_of_a_role(server: RunningServer, iam: Any) -> None:
    trust = policy({"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"})
    role = iam.create_role(RoleName="machine", AssumeRolePolicyDocument=trust)["Role"]
    tags = [{"Key": "a", "Value": "b"}]
    made = iam.create_instance_profile(InstanceProfileName="Machine", Path="/p/", Tags=tags)["InstanceProfile"]
    assert made["Arn"] == f"arn:aws:iam::{server.account}:instance-profile/p/Machine"
    assert (made["Roles"], made["Tags"]) == ([], tags)
    assert (
        "Instance Profile machine already exists" in refused(iam.create_instance_profile, InstanceProfileName="machine")[1]
    )
    iam.add_role_to_instance_profile(InstanceProfileName="Machine", RoleName="MACHINE")
    assert refused(iam.add_role_to_instance_profile, InstanceProfileName="Machine", RoleName="machine")[0] == "LimitExceeded"
    result = iam.get_instance_profile(InstanceProfileName="machine")["InstanceProfile"]
    assert [item["Arn"] for item in result["Roles"]] == [role["Arn"]]
    assert result["Roles"][0]["AssumeRolePolicyDocument"] == json.loads(trust)
    listed = iam.list_instance_profiles_for_role(RoleName="machine")["InstanceProfiles"]
    assert [item["InstanceProfileName"] for item in listed] == ["Machine"]
    assert len(iam.list_instance_profiles(PathPrefix="/p/")["InstanceProfiles"]) == 1
    assert "must remove roles from instance profile" in refused(iam.delete_role, RoleName="machine")[1]
    assert refused(iam.delete_instance_profile, InstanceProfileName="Machine")[0] == "DeleteConflict"
    iam.remove_role_from_instance_profile(InstanceProfileName="Machine", RoleName="machine")
    iam.untag_instance_profile(InstanceProfileName="Machine", TagKeys=["A"])
    assert iam.list_instance_profile_tags(InstanceProfileName="Machine")["Tags"] == []
    iam.delete_instance_profile(InstanceProfileName="Machine")
    iam.delete_role(RoleName="machine")
    assert refused(iam.list_instance_profiles_for_role, RoleName="machine")[0] == "NoSuchEntity"
    assert refused(iam.get_instance_profile, InstanceProfileName="Machine")[0] == "NoSuchEntity"


def test_adding_a_role_to_an_instance_profile_needs_permission_to_pass_it(server: RunningServer, iam: Any) -> None:
    trust = policy({"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"})
    role = iam.create_role(RoleName="passed", AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    iam.create_instance_profile(InstanceProfileName="passed")
    joe = user(server, "joe")
    put = {"UserName": "joe", "PolicyName": "p"}
    adding = allow("iam:AddRoleToInstanceProfile", f"arn:aws:iam::{server.account}:instance-profile/*")
    iam.put_user_policy(**put, PolicyDocument=policy(adding))
    call = {"InstanceProfileName": "passed", "RoleName": "passed"}
    assert "iam:PassRole" in refused(joe.client("iam").add_role_to_instance_profile, **call)[1]
    to_machines = {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}}
    iam.put_user_policy(**put, PolicyDocument=policy(adding, allow("iam:PassRole", role, Condition=to_machines)))
    joe.client("iam").add_role_to_instance_profile(**call)


def test_lists_of_attached_policies_filter_by_path(iam: Any) -> None:
    arn = iam.create_policy(PolicyName="pathed", Path="/x/", PolicyDocument=policy(allow("glue:*", "*")))["Policy"]["Arn"]
    iam.create_user(UserName="pathed")
    for item in (arn, READ):
        iam.attach_user_policy(UserName="pathed", PolicyArn=item)
    listed = iam.list_attached_user_policies(UserName="pathed", PathPrefix="/x/")["AttachedPolicies"]
    assert [item["PolicyArn"] for item in listed] == [arn]

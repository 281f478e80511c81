"""Nobody gets more than its policies give: by groups, by boundaries, by passing roles on, by tokens of others."""

import json
import secrets

import pytest
from botocore.exceptions import ClientError

ADMINISTRATOR = "arn:aws:iam::aws:policy/AdministratorAccess"


def policy(*statements):
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def allow(actions, resources="*", **more):
    return {"Effect": "Allow", "Action": actions, "Resource": resources, **more}


def name(kind):
    return f"{kind}-{secrets.token_hex(4)}"


def new_user(target, *statements, **more):
    """A user's name, and the credentials that clients take."""
    iam, user = target.client("iam"), name("user")
    iam.create_user(UserName=user, **more)
    if statements:
        iam.put_user_policy(UserName=user, PolicyName="p", PolicyDocument=policy(*statements))
    key = iam.create_access_key(UserName=user)["AccessKey"]
    return user, {"access_key_id": key["AccessKeyId"], "secret_access_key": key["SecretAccessKey"]}


def denied(call, **arguments):
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    error = caught.value.response["Error"]
    assert error["Code"] in {"AccessDenied", "AccessDeniedException"}, error
    return error["Message"]


@pytest.fixture
def bounded(target):
    """An administrator whose boundary takes IAM only for users that have the same boundary: a delegated administrator."""
    iam = target.client("iam")
    boundary = f"arn:aws:iam::{target.account}:policy/{name('boundary')}"
    bound = {"StringEquals": {"iam:PermissionsBoundary": boundary}}
    iam.create_policy(
        PolicyName=boundary.rpartition("/")[2],
        PolicyDocument=policy(
            allow("glue:List*"),
            allow(["iam:CreateUser", "iam:AttachUserPolicy", "iam:PutUserPolicy"], Condition=bound),
            allow(["iam:CreateAccessKey", "iam:GetUser", "iam:CreateGroup", "iam:AddUserToGroup", "iam:AttachGroupPolicy"]),
        ),
    )
    user, credentials = new_user(target, allow("*"), PermissionsBoundary=boundary)
    return boundary, user, credentials


def test_a_bounded_administrator_cannot_shake_the_boundary_off(target, bounded):
    boundary, user, credentials = bounded
    iam = target.client("iam", **credentials)
    denied(iam.delete_user_permissions_boundary, UserName=user)
    denied(iam.put_user_permissions_boundary, UserName=user, PermissionsBoundary=ADMINISTRATOR)
    denied(iam.create_policy_version, PolicyArn=boundary, PolicyDocument=policy(allow("*")), SetAsDefault=True)
    denied(iam.create_user, UserName=name("free"))
    denied(iam.create_user, UserName=name("free"), PermissionsBoundary=ADMINISTRATOR)
    # Policies and groups are given away freely, and give nothing that the boundary does not have.
    iam.attach_user_policy(UserName=user, PolicyArn=ADMINISTRATOR)
    group = name("group")
    iam.create_group(GroupName=group)
    iam.attach_group_policy(GroupName=group, PolicyArn=ADMINISTRATOR)
    iam.add_user_to_group(GroupName=group, UserName=user)
    target.client("glue", **credentials).list_registries()
    denied(target.client("glue", **credentials).create_registry, RegistryName=name("registry"))


def test_whom_a_bounded_administrator_makes_is_bounded_too(target, bounded):
    boundary, _, credentials = bounded
    iam, made = target.client("iam", **credentials), name("made")
    iam.create_user(UserName=made, PermissionsBoundary=boundary)
    iam.attach_user_policy(UserName=made, PolicyArn=ADMINISTRATOR)
    key = iam.create_access_key(UserName=made)["AccessKey"]
    theirs = {"access_key_id": key["AccessKeyId"], "secret_access_key": key["SecretAccessKey"]}
    denied(target.client("glue", **theirs).create_registry, RegistryName=name("registry"))
    denied(target.client("iam", **theirs).delete_user_permissions_boundary, UserName=made)
    unbounded, _ = new_user(target)
    denied(iam.attach_user_policy, UserName=unbounded, PolicyArn=ADMINISTRATOR)


def test_not_action_and_not_resource_do_not_reach_past_a_boundary(target):
    iam = target.client("iam")
    boundary = iam.create_policy(
        PolicyName=name("boundary"),
        PolicyDocument=policy({"Effect": "Allow", "NotAction": ["iam:*", "sts:*"], "Resource": "*"}),
    )["Policy"]["Arn"]
    everything = {"Effect": "Allow", "NotAction": "none:None", "NotResource": "arn:aws:none:::none"}
    user, credentials = new_user(target, everything, PermissionsBoundary=boundary)
    target.client("glue", **credentials).list_registries()
    denied(target.client("iam", **credentials).create_access_key, UserName=user)
    denied(target.client("iam", **credentials).list_users)


def test_nobody_joins_a_group_by_itself(target):
    iam, group = target.client("iam"), name("admins")
    iam.create_group(GroupName=group)
    iam.attach_group_policy(GroupName=group, PolicyArn=ADMINISTRATOR)
    user, credentials = new_user(target, allow("iam:*", f"arn:aws:iam::{target.account}:user/${{aws:username}}"))
    own = target.client("iam", **credentials)
    denied(own.add_user_to_group, GroupName=group, UserName=user)
    denied(own.attach_group_policy, GroupName=group, PolicyArn=ADMINISTRATOR)
    denied(own.put_group_policy, GroupName=group, PolicyName="p", PolicyDocument=policy(allow("*")))

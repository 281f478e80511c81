"""A permissions boundary bounds nothing here: what comes with one is refused, so that nobody relies on it."""

from typing import Any

import pytest

from penstock.access.accounts import Accounts
from penstock.access.authorize import Authorizer
from penstock.access.holders import Holders
from penstock.access.roles import Roles
from penstock.access.users import Users
from penstock.api.aws.iam_roles import role_handlers
from penstock.api.aws.iam_users import user_handlers
from penstock.api.aws.operations import RequestContext
from penstock.errors import OperationNotServed
from penstock.store.memory.access import MemoryAccessStore

A = "111122223333"
TRUST = '{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Principal": "*", "Action": "sts:AssumeRole"}}'


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("CreateUser", {"UserName": "ana"}),
        ("CreateRole", {"RoleName": "reader", "AssumeRolePolicyDocument": TRUST}),
    ],
)
def test_refuses_a_boundary_that_would_not_bind(operation: str, request_: dict[str, Any]) -> None:
    store = MemoryAccessStore()
    holders = Holders(store, Authorizer(store))
    roles = Roles(store, holders)
    users = Users(store, holders, keys_changed=lambda _: None)
    handlers = user_handlers(users, Accounts(store, roles, holders, first=A)) | role_handlers(roles)
    context = RequestContext(
        service="iam", operation=operation, account=A, region="us-east-1", principal=f"arn:aws:iam::{A}:root", request_id="1"
    )
    with pytest.raises(OperationNotServed, match="PermissionsBoundary"):
        handlers[operation](request_ | {"PermissionsBoundary": f"arn:aws:iam::{A}:policy/bound"}, context)
    handlers[operation](request_, context)

"""Operations of AWS Organizations: the first account creates and lists the accounts of the server.

As in AWS, a new account comes with a role, ``OrganizationAccountAccessRole``, which may do everything in it and which the
first account may assume, to create its first user. AWS has no member for the location of its lake, so that is a tag.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.access.entities import Account
from penstock.access.identities.accounts import Accounts, account_arn
from penstock.access.identities.tags import unique_tags
from penstock.api.aws.organizations.tree import tree_handlers
from penstock.api.aws.protocol.operations import OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request
from penstock.errors import AccessDenied, NotFound

__all__ = ["operations"]

_LAKE_TAG = "penstock:lake"


class StatusNotFound(NotFound):
    """No request for an account has this id."""

    aws_code = "CreateAccountStatusNotFoundException"


class NotTheFirst(AccessDenied):
    """The caller's account is not the first one."""

    aws_code = "AccessDeniedException"


def operations(accounts: Accounts, *, first: str, make_lake: Callable[[str], Path]) -> OperationSet:
    """Return CreateAccount and its status, reading of the accounts, of their tags and of their organization.

    ``first`` is the account that may call them; ``make_lake`` returns the folder of an account's lake, and creates it if it
    is missing.
    """

    def shape(account: Account) -> dict[str, Any]:
        return _account(account, first)

    def check(context: RequestContext) -> None:
        if context.account != first:
            raise NotTheFirst(
                "You don't have permissions to access this resource.", remedy=f"Only account {first} manages accounts."
            )

    def create(request: Request, context: RequestContext) -> Request:
        check(context)
        tags = unique_tags((tag["Key"], tag["Value"]) for tag in request.get("Tags", ()))
        account = accounts.create(request["AccountName"], request["Email"], role=request.get("RoleName"), tags=tags)
        make_lake(account.id)
        return {"CreateAccountStatus": _status(account)}

    def status(request: Request, context: RequestContext) -> Request:
        check(context)
        # Accounts are created at once, and the ids of their requests are derived from theirs.
        account = accounts.find(request["CreateAccountRequestId"].removeprefix("car-"))
        if account is None:
            raise StatusNotFound(f"There is no request {request['CreateAccountRequestId']}.")
        return {"CreateAccountStatus": _status(account)}

    def describe(request: Request, context: RequestContext) -> Request:
        check(context)
        return {"Account": shape(accounts.get(request["AccountId"]))}

    def tags(request: Request, context: RequestContext) -> Request:
        check(context)
        account = accounts.get(request["ResourceId"])
        return {"Tags": [{"Key": _LAKE_TAG, "Value": str(make_lake(account.id))}]}

    handlers = {
        "CreateAccount": create,
        "DescribeCreateAccountStatus": status,
        "DescribeAccount": describe,
        "ListTagsForResource": tags,
        **tree_handlers(accounts, first=first, check=check, shape=shape, status=_status),
    }
    return OperationSet(service="organizations", handlers=handlers)


def _status(account: Account) -> dict[str, Any]:
    return {
        "Id": f"car-{account.id}",
        "AccountName": account.name,
        "State": "SUCCEEDED",
        "RequestedTimestamp": account.created,
        "CompletedTimestamp": account.created,
        "AccountId": account.id,
    }


def _account(account: Account, first: str) -> dict[str, Any]:
    return {
        "Id": account.id,
        "Arn": account_arn(account.id, first),
        "Name": account.name,
        "Email": account.email,
        "Status": "ACTIVE",
        "JoinedMethod": "INVITED" if account.id == first else "CREATED",
        "JoinedTimestamp": account.created,
    }

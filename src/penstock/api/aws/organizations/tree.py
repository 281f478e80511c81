"""Organizations' operations that read the organization: one root, all accounts below it, no units, no policies."""

from collections.abc import Callable, Sequence
from typing import Any

from penstock.access.entities import Account
from penstock.access.identities.accounts import ORGANIZATION, Accounts, account_arn
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, present
from penstock.errors import NotFound
from penstock.names import arn
from penstock.paging import page_of

__all__ = ["tree_handlers"]

_ROOT = "r-penstock"
_PAGE = 20


class ParentNotFound(NotFound):
    """The root or organizational unit does not exist."""

    aws_code = "ParentNotFoundException"


class ChildNotFound(NotFound):
    """The account or organizational unit does not exist."""

    aws_code = "ChildNotFoundException"


class UnitNotFound(NotFound):
    """The organizational unit does not exist."""

    aws_code = "OrganizationalUnitNotFoundException"


class PolicyNotFound(NotFound):
    """The organization does not have the policy."""

    aws_code = "PolicyNotFoundException"


class TargetNotFound(NotFound):
    """No target of policies has this id."""

    aws_code = "TargetNotFoundException"


def _listed(
    request: Request,
    listing: str,
    member: str,
    items: Sequence[Any],
    *,
    key: Callable[[Any], str],
    shape: Callable[[Any], Any],
) -> Request:
    """Return the page of ``items``, in the order of ``key``, that the request's NextToken and MaxResults ask for."""
    page = page_of(listing, request.get("NextToken"), request.get("MaxResults", _PAGE), sorted(items, key=key), key)
    return present(**{member: [shape(entry) for entry in page.items]}, NextToken=page.next_token)


def _nothing(request: Request, listing: str, member: str) -> Request:
    return _listed(request, listing, member, [], key=str, shape=str)


def tree_handlers(
    accounts: Accounts,
    *,
    first: str,
    check: Callable[[RequestContext], None],
    shape: Callable[[Account], Any],
    status: Callable[[Account], Any],
) -> dict[str, Handler]:
    """Return the handlers by operation name.

    ``check`` rejects callers of other accounts than ``first``; ``shape`` returns an account's shape, ``status`` that of the
    request that created it.
    """
    served = _Tree(accounts, first, shape, status)
    managing: dict[str, Handler] = {
        "ListRoots": served.roots,
        "ListOrganizationalUnitsForParent": served.units,
        "DescribeOrganizationalUnit": served.unit,
        "ListParents": served.parents,
        "ListChildren": served.children,
        "ListAccounts": served.all_accounts,
        "ListAccountsForParent": served.accounts,
        "ListCreateAccountStatus": served.statuses,
        "ListPolicies": served.policies,
        "ListPoliciesForTarget": served.policies_for,
        "DescribePolicy": served.policy,
        "ListDelegatedAdministrators": served.delegates,
        "ListAWSServiceAccessForOrganization": served.services,
    }

    def guarded(handler: Handler) -> Handler:
        def handle(request: Request, context: RequestContext) -> Request:
            check(context)
            return handler(request, context)

        return handle

    # Every account may ask which organization it is in.
    return {name: guarded(handler) for name, handler in managing.items()} | {"DescribeOrganization": served.organization}


class _Tree:
    def __init__(
        self, accounts: Accounts, first: str, shape: Callable[[Account], Any], status: Callable[[Account], Any]
    ) -> None:
        self._accounts = accounts
        self._first = first
        self._shape = shape
        self._status = status

    def organization(self, _request: Request, _context: RequestContext) -> Request:
        return {
            "Organization": {
                "Id": ORGANIZATION,
                "Arn": arn("organizations", "", self._first, f"organization/{ORGANIZATION}"),
                # The other value, ALL, would include service control policies.
                "FeatureSet": "CONSOLIDATED_BILLING",
                "MasterAccountArn": account_arn(self._first, self._first),
                "MasterAccountId": self._first,
                "MasterAccountEmail": self._accounts.get(self._first).email,
                "AvailablePolicyTypes": [],
            }
        }

    def roots(self, request: Request, _context: RequestContext) -> Request:
        root = {
            "Id": _ROOT,
            "Arn": arn("organizations", "", self._first, f"root/{ORGANIZATION}/{_ROOT}"),
            "Name": "Root",
            "PolicyTypes": [],
        }
        return _listed(request, "roots", "Roots", [root], key=lambda root_shape: str(root_shape["Id"]), shape=dict)

    def units(self, request: Request, _context: RequestContext) -> Request:
        _check_parent(request["ParentId"])
        return _nothing(request, "units", "OrganizationalUnits")

    def unit(self, request: Request, _context: RequestContext) -> Request:
        raise UnitNotFound(f"There is no organizational unit {request['OrganizationalUnitId']}.")

    def parents(self, request: Request, _context: RequestContext) -> Request:
        if self._accounts.find(request["ChildId"]) is None:
            raise ChildNotFound(f"There is no account {request['ChildId']}.", remedy="ListAccounts lists the accounts.")
        return _listed(
            request, "parents", "Parents", [{"Id": _ROOT, "Type": "ROOT"}], key=lambda item: item["Id"], shape=dict
        )

    def children(self, request: Request, _context: RequestContext) -> Request:
        _check_parent(request["ParentId"])
        accounts = self._accounts.list() if request["ChildType"] == "ACCOUNT" else []
        return _listed(
            request, "children", "Children", accounts, key=_id, shape=lambda account: {"Id": account.id, "Type": "ACCOUNT"}
        )

    def accounts(self, request: Request, _context: RequestContext) -> Request:
        _check_parent(request["ParentId"])
        return _listed(request, "accounts of the root", "Accounts", self._accounts.list(), key=_id, shape=self._shape)

    def all_accounts(self, request: Request, _context: RequestContext) -> Request:
        return _listed(request, "accounts", "Accounts", self._accounts.list(), key=_id, shape=self._shape)

    def statuses(self, request: Request, _context: RequestContext) -> Request:
        created = _created(self._accounts.list(), self._first, request.get("States"))
        return _listed(request, "statuses", "CreateAccountStatuses", created, key=_id, shape=self._status)

    def policies(self, request: Request, _context: RequestContext) -> Request:
        return _nothing(request, f"policies:{request['Filter']}", "Policies")

    def policies_for(self, request: Request, _context: RequestContext) -> Request:
        target = request["TargetId"]
        if target != _ROOT and self._accounts.find(target) is None:
            raise TargetNotFound(f"There is no root and no account {target}.")
        return _nothing(request, f"policies:{request['Filter']}:{target}", "Policies")

    def policy(self, request: Request, _context: RequestContext) -> Request:
        raise PolicyNotFound(f"There is no policy {request['PolicyId']}.", remedy="This organization has none.")

    def delegates(self, request: Request, _context: RequestContext) -> Request:
        return _nothing(request, f"delegates:{request.get('ServicePrincipal', '')}", "DelegatedAdministrators")

    def services(self, request: Request, _context: RequestContext) -> Request:
        return _nothing(request, "services", "EnabledServicePrincipals")


def _created(accounts: Sequence[Account], first: str, states: Sequence[str] | None) -> list[Account]:
    """Return the accounts whose requests are in one of the states. The first has none; the others succeeded at once."""
    if states is not None and "SUCCEEDED" not in states:
        return []
    return [account for account in accounts if account.id != first]


def _id(account: Account) -> str:
    return account.id


def _check_parent(parent: str) -> None:
    if parent != _ROOT:
        raise ParentNotFound(f"There is no root or organizational unit {parent}.", remedy=f"The root is {_ROOT}.")

"""The members of Organizations' requests."""

from penstock.api.aws.members.declared import Harmless, Members

__all__ = ["MEMBERS"]

MEMBERS = Members(
    served={
        "CreateAccountRequest": "Email AccountName RoleName Tags",
        "Tag": "Key Value",
        "DescribeAccountRequest": "AccountId",
        "DescribeCreateAccountStatusRequest": "CreateAccountRequestId",
        "ListAccountsRequest": "NextToken MaxResults",
        "ListTagsForResourceRequest": "ResourceId",
        "DescribeOrganizationalUnitRequest": "OrganizationalUnitId",
        "DescribePolicyRequest": "PolicyId",
        "ListAWSServiceAccessForOrganizationRequest": "NextToken MaxResults",
        "ListAccountsForParentRequest": "ParentId NextToken MaxResults",
        "ListChildrenRequest": "ParentId ChildType NextToken MaxResults",
        "ListCreateAccountStatusRequest": "States NextToken MaxResults",
        "ListDelegatedAdministratorsRequest": "ServicePrincipal NextToken MaxResults",
        "ListOrganizationalUnitsForParentRequest": "ParentId NextToken MaxResults",
        "ListParentsRequest": "ChildId NextToken MaxResults",
        "ListPoliciesRequest": "Filter NextToken MaxResults",
        "ListPoliciesForTargetRequest": "TargetId Filter NextToken MaxResults",
        "ListRootsRequest": "NextToken MaxResults",
    },
    harmless={"CreateAccountRequest": {"IamUserAccessToBilling": Harmless("There are no bills.")}},
    remedies={"NextToken": "Leave it out: the first page is the whole answer."},
)

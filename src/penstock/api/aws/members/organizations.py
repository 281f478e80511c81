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
    },
    harmless={"CreateAccountRequest": {"IamUserAccessToBilling": Harmless("There are no bills.")}},
    remedies={"NextToken": "Leave it out: the first page is the whole answer."},
)

"""The members of CloudTrail's requests."""

from penstock.api.aws.members.declared import Members

__all__ = ["MEMBERS"]

MEMBERS = Members(
    served={
        "LookupEventsRequest": "LookupAttributes StartTime EndTime MaxResults NextToken",
        "LookupAttribute": "AttributeKey AttributeValue",
    },
    remedies={"EventCategory": "Leave it out: only management events are recorded."},
)

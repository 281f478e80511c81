"""The members of CloudWatch Logs' requests."""

from penstock.api.aws.members.declared import Harmless, Members

__all__ = ["MEMBERS"]

MEMBERS = Members(
    served={
        "CreateLogGroupRequest": "logGroupName kmsKeyId tags logGroupClass",
        "DeleteLogGroupRequest": "logGroupName",
        "PutRetentionPolicyRequest": "logGroupName retentionInDays",
        "DeleteRetentionPolicyRequest": "logGroupName",
        "TagResourceRequest": "resourceArn tags",
        "UntagResourceRequest": "resourceArn tagKeys",
        "ListTagsForResourceRequest": "resourceArn",
        "TagLogGroupRequest": "logGroupName tags",
        "UntagLogGroupRequest": "logGroupName tags",
        "ListTagsLogGroupRequest": "logGroupName",
        "DescribeLogGroupsRequest": "logGroupNamePrefix nextToken limit",
        "DescribeLogStreamsRequest": "logGroupName logStreamNamePrefix orderBy descending nextToken limit",
        "FilterLogEventsRequest": "logGroupName logStreamNames logStreamNamePrefix startTime endTime nextToken limit",
        "GetLogEventsRequest": "logGroupName logStreamName startTime endTime nextToken limit startFromHead",
    },
    harmless={"FilterLogEventsRequest": {"interleaved": Harmless("Events of all streams are interleaved, as in AWS.")}},
    remedies={
        "filterPattern": "Leave it out, and search the events that are returned.",
        "logGroupIdentifier": "Give logGroupName.",
        "logGroupIdentifiers": "Give logGroupNamePrefix.",
        "logGroupNamePattern": "Give logGroupNamePrefix.",
    },
)

"""The members of Glue's requests about jobs, triggers, workflows and sessions."""

from collections.abc import Mapping

from penstock.api.aws.members.declared import Harmless

__all__ = ["HARMLESS", "JOBS", "REMEDIES"]

JOBS: Mapping[str, str] = {
    "BatchGetJobsRequest": "JobNames",
    "BatchStopJobRunRequest": "JobName JobRunIds",
    "ConnectionsList": "Connections",
    "CreateJobRequest": "Name JobMode JobRunQueuingEnabled Description LogUri Role ExecutionProperty Command "
    "DefaultArguments NonOverridableArguments Connections MaxRetries AllocatedCapacity Timeout MaxCapacity "
    "SecurityConfiguration Tags NotificationProperty GlueVersion NumberOfWorkers WorkerType ExecutionClass",
    "DeleteJobRequest": "JobName",
    "ExecutionProperty": "MaxConcurrentRuns",
    "GetJobBookmarkRequest": "JobName RunId",
    "GetJobRequest": "JobName",
    "GetJobRunRequest": "JobName RunId PredecessorsIncluded",
    "GetJobRunsRequest": "JobName NextToken MaxResults",
    "GetJobsRequest": "NextToken MaxResults",
    "JobCommand": "Name ScriptLocation PythonVersion",
    "JobUpdate": "JobMode JobRunQueuingEnabled Description LogUri Role ExecutionProperty Command DefaultArguments "
    "NonOverridableArguments Connections MaxRetries AllocatedCapacity Timeout MaxCapacity SecurityConfiguration "
    "NotificationProperty GlueVersion NumberOfWorkers WorkerType ExecutionClass",
    "ListJobsRequest": "NextToken MaxResults Tags",
    "NotificationProperty": "NotifyDelayAfter",
    "ResetJobBookmarkRequest": "JobName RunId",
    "StartJobRunRequest": "JobName JobRunQueuingEnabled JobRunId Arguments AllocatedCapacity Timeout MaxCapacity "
    "SecurityConfiguration NotificationProperty WorkerType NumberOfWorkers ExecutionClass",
    "UpdateJobRequest": "JobName JobUpdate",
    # Triggers
    "Action": "JobName Arguments Timeout SecurityConfiguration NotificationProperty CrawlerName",
    "BatchGetTriggersRequest": "TriggerNames",
    "Condition": "LogicalOperator JobName State CrawlerName CrawlState",
    "CreateTriggerRequest": "Name WorkflowName Type Schedule Predicate Actions Description StartOnCreation Tags",
    "DeleteTriggerRequest": "Name",
    "GetTriggerRequest": "Name",
    "GetTriggersRequest": "NextToken DependentJobName MaxResults",
    "ListTriggersRequest": "NextToken DependentJobName MaxResults Tags",
    "Predicate": "Logical Conditions",
    "StartTriggerRequest": "Name",
    "StopTriggerRequest": "Name",
    "TriggerUpdate": "Description Schedule Actions Predicate",
    "UpdateTriggerRequest": "Name TriggerUpdate",
    # Workflows
    "BatchGetWorkflowsRequest": "Names IncludeGraph",
    "CreateWorkflowRequest": "Name Description DefaultRunProperties Tags MaxConcurrentRuns",
    "DeleteWorkflowRequest": "Name",
    "GetWorkflowRequest": "Name IncludeGraph",
    "GetWorkflowRunPropertiesRequest": "Name RunId",
    "GetWorkflowRunRequest": "Name RunId IncludeGraph",
    "GetWorkflowRunsRequest": "Name IncludeGraph NextToken MaxResults",
    "ListWorkflowsRequest": "NextToken MaxResults",
    "PutWorkflowRunPropertiesRequest": "Name RunId RunProperties",
    "ResumeWorkflowRunRequest": "Name RunId NodeIds",
    "StartWorkflowRunRequest": "Name RunProperties",
    "StopWorkflowRunRequest": "Name RunId",
    "UpdateWorkflowRequest": "Name Description DefaultRunProperties MaxConcurrentRuns",
    # Security configurations
    "CloudWatchEncryption": "CloudWatchEncryptionMode KmsKeyArn",
    "CreateSecurityConfigurationRequest": "Name EncryptionConfiguration",
    "DeleteSecurityConfigurationRequest": "Name",
    "EncryptionConfiguration": "S3Encryption CloudWatchEncryption JobBookmarksEncryption",
    "GetSecurityConfigurationRequest": "Name",
    "GetSecurityConfigurationsRequest": "MaxResults NextToken",
    "JobBookmarksEncryption": "JobBookmarksEncryptionMode KmsKeyArn",
    "S3Encryption": "S3EncryptionMode KmsKeyArn",
    # Sessions
    "CancelStatementRequest": "SessionId Id",
    "CreateSessionRequest": "Id Description Role Command Timeout IdleTimeout DefaultArguments Connections MaxCapacity "
    "NumberOfWorkers WorkerType SecurityConfiguration GlueVersion Tags",
    "DeleteSessionRequest": "Id",
    "GetSessionRequest": "Id",
    "GetStatementRequest": "SessionId Id",
    "ListSessionsRequest": "NextToken MaxResults Tags",
    "ListStatementsRequest": "SessionId NextToken",
    "RunStatementRequest": "SessionId Code",
    "SessionCommand": "Name PythonVersion",
    "StopSessionRequest": "Id",
}
"""As in :class:`~penstock.api.aws.members.declared.Members`."""

_ORIGIN = {"RequestOrigin": Harmless("It says which program asks.")}
HARMLESS: Mapping[str, Mapping[str, Harmless]] = {
    **{
        f"{verb}{noun}Request": _ORIGIN
        for noun, verbs in (("Session", ("Get", "Stop", "Delete")), ("Statement", ("Run", "Get", "Cancel")))
        for verb in verbs
    },
    "CreateSessionRequest": {
        **_ORIGIN,
        "SessionType": Harmless("There are statements, and no Spark Connect.", frozenset({"LIVY"})),
    },
    "ListSessionsRequest": _ORIGIN,
    "ListStatementsRequest": _ORIGIN,
}

REMEDIES: Mapping[str, str] = {
    "DataQualityEncryption": "Leave it out, and encrypt the disks of the lake and of the server's home.",
    "EventBatchingCondition": "Leave it out: triggers of the type EVENT are not served.",
    "CodeGenConfigurationNodes": "Leave it out, and give the script: jobs are not generated from a drawing.",
    "ExecutionRoleSessionPolicy": "Leave it out: a run has all rights of its job's role.",
    "MaintenanceWindow": "Leave it out: jobs are not restarted for maintenance.",
    "Runtime": "Leave it out: it is Ray's.",
    "SourceControlDetails": "Leave it out: scripts are in the lake.",
}

"""The members of Glue's requests about jobs, triggers, workflows and sessions."""

from collections.abc import Mapping

__all__ = ["JOBS", "REMEDIES"]

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
}
"""As in :class:`~penstock.api.aws.members.declared.Members`."""

REMEDIES: Mapping[str, str] = {
    "CodeGenConfigurationNodes": "Leave it out, and give the script: jobs are not generated from a drawing.",
    "ExecutionRoleSessionPolicy": "Leave it out: a run has all rights of its job's role.",
    "MaintenanceWindow": "Leave it out: jobs are not restarted for maintenance.",
    "Runtime": "Leave it out: it is Ray's.",
    "SourceControlDetails": "Leave it out: scripts are in the lake.",
}

"""The members of Secrets Manager's requests."""

from penstock.api.aws.members.declared import Members

__all__ = ["MEMBERS"]

MEMBERS = Members(
    served={
        "CreateSecretRequest": "Name ClientRequestToken Description KmsKeyId SecretBinary SecretString Tags",
        "Tag": "Key Value",
        "DeleteSecretRequest": "SecretId RecoveryWindowInDays ForceDeleteWithoutRecovery",
        "DescribeSecretRequest": "SecretId",
        "GetSecretValueRequest": "SecretId VersionId VersionStage",
        "ListSecretVersionIdsRequest": "SecretId MaxResults NextToken IncludeDeprecated",
        "ListSecretsRequest": "IncludePlannedDeletion MaxResults NextToken Filters SortOrder SortBy",
        "Filter": "Key Values",
        "PutSecretValueRequest": "SecretId ClientRequestToken SecretBinary SecretString VersionStages",
        "BatchGetSecretValueRequest": "SecretIdList Filters MaxResults NextToken",
        "GetRandomPasswordRequest": (
            "PasswordLength ExcludeCharacters ExcludeNumbers ExcludePunctuation ExcludeUppercase ExcludeLowercase "
            "IncludeSpace RequireEachIncludedType"
        ),
        "GetResourcePolicyRequest": "SecretId PolicyName",
        "PutResourcePolicyRequest": "SecretId ResourcePolicy PolicyName BlockPublicPolicy",
        "DeleteResourcePolicyRequest": "SecretId PolicyName",
        "ValidateResourcePolicyRequest": "SecretId ResourcePolicy",
        "RotationRulesType": "AutomaticallyAfterDays Duration ScheduleExpression",
        "UpdateSecretVersionStageRequest": "SecretId VersionStage RemoveFromVersionId MoveToVersionId",
        "RestoreSecretRequest": "SecretId",
        "CancelRotateSecretRequest": "SecretId",
        "RotateSecretRequest": "SecretId ClientRequestToken RotationLambdaARN RotationRules RotateImmediately",
        "TagResourceRequest": "SecretId Tags",
        "UntagResourceRequest": "SecretId TagKeys",
        "UpdateSecretRequest": "SecretId ClientRequestToken Description KmsKeyId SecretBinary SecretString",
    },
    remedies={
        "AddReplicaRegions": "Leave it out: a server is one region; use its backups for copies.",
        "RotationToken": "Leave it out: a rotation function signs with credentials of its own.",
        "Type": "Leave it out: secrets of other services are stored like any other.",
    },
)

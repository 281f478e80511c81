"""The members of Athena's requests."""

from penstock.api.aws.members.declared import Harmless, Members

__all__ = ["MEMBERS"]

_ONE_PAGE = Harmless("Everything fits into one page, which is the answer; there is never a token to go on from.")
_NO_ATTRIBUTES = Harmless("It makes answers smaller: the whole answer includes what is asked for.")
_EFFECTIVE = Harmless("Athena decides it from the selected version; Terraform sends back what it was told.")
_SETTINGS = (
    "EnforceWorkGroupConfiguration PublishCloudWatchMetricsEnabled BytesScannedCutoffPerQuery RequesterPaysEnabled "
    "EngineVersion EnableMinimumEncryptionConfiguration"
)
_RESULTS = "OutputLocation EncryptionConfiguration ExpectedBucketOwner AclConfiguration"

MEMBERS = Members(
    served={
        "AclConfiguration": "S3AclOption",
        "BatchGetNamedQueryInput": "NamedQueryIds",
        "BatchGetPreparedStatementInput": "PreparedStatementNames WorkGroup",
        "BatchGetQueryExecutionInput": "QueryExecutionIds",
        "CreateDataCatalogInput": "Name Type Description Parameters Tags",
        "CreateNamedQueryInput": "Name Description Database QueryString ClientRequestToken WorkGroup",
        "CreatePreparedStatementInput": "StatementName WorkGroup QueryStatement Description",
        "CreateWorkGroupInput": "Name Configuration Description Tags",
        "DeleteDataCatalogInput": "Name",
        "DeleteNamedQueryInput": "NamedQueryId",
        "DeletePreparedStatementInput": "StatementName WorkGroup",
        "DeleteWorkGroupInput": "WorkGroup RecursiveDeleteOption",
        "EncryptionConfiguration": "EncryptionOption KmsKey",
        "EngineVersion": "SelectedEngineVersion",
        "GetDataCatalogInput": "Name WorkGroup",
        "GetDatabaseInput": "CatalogName DatabaseName WorkGroup",
        "GetNamedQueryInput": "NamedQueryId",
        "GetPreparedStatementInput": "StatementName WorkGroup",
        "GetQueryExecutionInput": "QueryExecutionId",
        "GetQueryResultsInput": "QueryExecutionId NextToken MaxResults QueryResultType",
        "GetQueryRuntimeStatisticsInput": "QueryExecutionId",
        "GetTableMetadataInput": "CatalogName DatabaseName TableName WorkGroup",
        "GetWorkGroupInput": "WorkGroup",
        "ListDataCatalogsInput": "NextToken MaxResults WorkGroup",
        "ListDatabasesInput": "CatalogName NextToken MaxResults WorkGroup",
        "ListNamedQueriesInput": "NextToken MaxResults WorkGroup",
        "ListPreparedStatementsInput": "NextToken MaxResults WorkGroup",
        "ListQueryExecutionsInput": "NextToken MaxResults WorkGroup",
        "ListTableMetadataInput": "CatalogName DatabaseName Expression NextToken MaxResults WorkGroup",
        "ListTagsForResourceInput": "ResourceARN",
        "ListWorkGroupsInput": "NextToken MaxResults",
        "ManagedQueryResultsConfiguration": "Enabled EncryptionConfiguration",
        "ManagedQueryResultsConfigurationUpdates": "Enabled EncryptionConfiguration RemoveEncryptionConfiguration",
        "ManagedQueryResultsEncryptionConfiguration": "KmsKey",
        "QueryExecutionContext": "Database Catalog",
        "ResultConfiguration": _RESULTS,
        "ResultConfigurationUpdates": f"{_RESULTS} RemoveOutputLocation RemoveEncryptionConfiguration "
        "RemoveExpectedBucketOwner RemoveAclConfiguration",
        "ResultReuseByAgeConfiguration": "Enabled MaxAgeInMinutes",
        "ResultReuseConfiguration": "ResultReuseByAgeConfiguration",
        "StartQueryExecutionInput": "QueryString ClientRequestToken QueryExecutionContext ResultConfiguration WorkGroup "
        "ExecutionParameters ResultReuseConfiguration",
        "StopQueryExecutionInput": "QueryExecutionId",
        "Tag": "Key Value",
        "TagResourceInput": "ResourceARN Tags",
        "UntagResourceInput": "ResourceARN TagKeys",
        "UpdateDataCatalogInput": "Name Type Description Parameters",
        "UpdateNamedQueryInput": "NamedQueryId Name Description QueryString",
        "UpdatePreparedStatementInput": "StatementName WorkGroup QueryStatement Description",
        "UpdateWorkGroupInput": "WorkGroup Description ConfigurationUpdates State",
        "WorkGroupConfiguration": f"ResultConfiguration ManagedQueryResultsConfiguration {_SETTINGS}",
        "WorkGroupConfigurationUpdates": "ResultConfigurationUpdates ManagedQueryResultsConfigurationUpdates "
        f"RemoveBytesScannedCutoffPerQuery {_SETTINGS}",
    },
    harmless={
        "EngineVersion": {"EffectiveEngineVersion": _EFFECTIVE},
        "DeleteDataCatalogInput": {"DeleteCatalogOnly": Harmless("A data catalog of type GLUE has nothing beside itself.")},
        "ListDatabasesInput": {"AttributesToGet": _NO_ATTRIBUTES},
        "ListEngineVersionsInput": {"MaxResults": _ONE_PAGE},
        "ListTableMetadataInput": {"AttributesToGet": _NO_ATTRIBUTES},
        "ListTagsForResourceInput": {"MaxResults": _ONE_PAGE},
    },
    remedies={
        "EngineConfiguration": "Leave it out: there is one engine, which sizes itself.",
        "NextToken": "Leave it out: the first page is the whole answer.",
    },
)

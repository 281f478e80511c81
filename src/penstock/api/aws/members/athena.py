"""The members of Athena's requests."""

from penstock.api.aws.members.declared import Harmless, Members

__all__ = ["MEMBERS"]

_ONE_PAGE = Harmless("Everything fits into one page, which is the answer; there is never a token to go on from.")
_NO_ATTRIBUTES = Harmless("It makes answers smaller: the whole answer includes what is asked for.")
_ONE_GROUP = Harmless("There is one workgroup, and it sees the one catalog.")

MEMBERS = Members(
    served={
        "BatchGetQueryExecutionInput": "QueryExecutionIds",
        "GetDataCatalogInput": "Name",
        "GetDatabaseInput": "CatalogName DatabaseName WorkGroup",
        "GetQueryExecutionInput": "QueryExecutionId",
        "GetQueryResultsInput": "QueryExecutionId NextToken MaxResults QueryResultType",
        "GetQueryRuntimeStatisticsInput": "QueryExecutionId",
        "GetTableMetadataInput": "CatalogName DatabaseName TableName WorkGroup",
        "GetWorkGroupInput": "WorkGroup",
        "ListDatabasesInput": "CatalogName NextToken MaxResults WorkGroup",
        "ListQueryExecutionsInput": "NextToken MaxResults WorkGroup",
        "ListTableMetadataInput": "CatalogName DatabaseName Expression NextToken MaxResults WorkGroup",
        "StartQueryExecutionInput": "QueryString ClientRequestToken QueryExecutionContext ResultConfiguration WorkGroup "
        "ExecutionParameters ResultReuseConfiguration",
        "ResultReuseConfiguration": "ResultReuseByAgeConfiguration",
        "ResultReuseByAgeConfiguration": "Enabled MaxAgeInMinutes",
        "QueryExecutionContext": "Database Catalog",
        "ResultConfiguration": "OutputLocation",
        "StopQueryExecutionInput": "QueryExecutionId",
    },
    harmless={
        "GetDataCatalogInput": {"WorkGroup": _ONE_GROUP},
        "ListDataCatalogsInput": {"WorkGroup": _ONE_GROUP, "MaxResults": _ONE_PAGE},
        "ListWorkGroupsInput": {"MaxResults": _ONE_PAGE},
        "ListDatabasesInput": {"AttributesToGet": _NO_ATTRIBUTES},
        "ListTableMetadataInput": {"AttributesToGet": _NO_ATTRIBUTES},
    },
    remedies={
        "AclConfiguration": "Leave it out: results belong to the account.",
        "EncryptionConfiguration": "Leave it out: results are files of the lake.",
        "EngineConfiguration": "Leave it out: there is one engine, which sizes itself.",
        "ExpectedBucketOwner": "Leave it out: buckets are the account's own.",
        "NextToken": "Leave it out: the first page is the whole answer.",
    },
)

"""The members of Lake Formation's requests."""

from penstock.api.aws.members.declared import Harmless, Members

__all__ = ["MEMBERS"]

_ONE_PAGE = Harmless("Everything fits into one page, which is the answer; there is never a token to go on from.")
_WHOLE = Harmless("It makes answers smaller or says more: the whole answer includes what is asked for.")

_WHOLE_TABLES = Harmless("There are credentials for tables of which the caller may read all, which each type supports.")
_AUDIT = Harmless("The audit log has the whole request.")

_GRANT = "CatalogId Principal Resource Permissions PermissionsWithGrantOption"
_PAGED = {"MaxResults": _ONE_PAGE, "NextToken": _ONE_PAGE}

MEMBERS = Members(
    served={
        "AddLFTagsToResourceRequest": "CatalogId Resource LFTags",
        "BatchGrantPermissionsRequest": "CatalogId Entries",
        "BatchPermissionsRequestEntry": "Principal Resource Permissions PermissionsWithGrantOption",
        "BatchRevokePermissionsRequest": "CatalogId Entries",
        "CatalogResource": "Id",
        "ColumnWildcard": "ExcludedColumnNames",
        "CreateDataCellsFilterRequest": "TableData",
        "CreateLFTagExpressionRequest": "Name Description CatalogId Expression",
        "CreateLFTagRequest": "CatalogId TagKey TagValues",
        "DataCellsFilter": ("TableCatalogId DatabaseName TableName Name RowFilter ColumnNames ColumnWildcard VersionId"),
        "DataCellsFilterResource": "TableCatalogId DatabaseName TableName Name",
        "DataLakePrincipal": "DataLakePrincipalIdentifier",
        "DataLakeSettings": (
            "DataLakeAdmins ReadOnlyAdmins CreateDatabaseDefaultPermissions CreateTableDefaultPermissions Parameters "
            "TrustedResourceOwners AllowExternalDataFiltering AllowFullTableExternalDataAccess "
            "ExternalDataFilteringAllowList AuthorizedSessionTagValueList"
        ),
        "DataLocationResource": "CatalogId ResourceArn",
        "DatabaseResource": "CatalogId Name",
        "DeleteDataCellsFilterRequest": "TableCatalogId DatabaseName TableName Name",
        "DeleteLFTagExpressionRequest": "Name CatalogId",
        "DeleteLFTagRequest": "CatalogId TagKey",
        "DeregisterResourceRequest": "ResourceArn",
        "DescribeResourceRequest": "ResourceArn",
        "GetDataCellsFilterRequest": "TableCatalogId DatabaseName TableName Name",
        "GetDataLakeSettingsRequest": "CatalogId",
        "GetEffectivePermissionsForPathRequest": "CatalogId ResourceArn NextToken MaxResults",
        "GetLFTagExpressionRequest": "Name CatalogId",
        "GetLFTagRequest": "CatalogId TagKey",
        "GetResourceLFTagsRequest": "CatalogId Resource",
        "GetTemporaryGluePartitionCredentialsRequest": "TableArn Partition Permissions DurationSeconds",
        "GetTemporaryGlueTableCredentialsRequest": "TableArn Permissions S3Path DurationSeconds",
        "GrantPermissionsRequest": _GRANT,
        "PartitionValueList": "Values",
        "LFTag": "TagKey TagValues",
        "LFTagExpressionResource": "CatalogId Name",
        "LFTagKeyResource": "CatalogId TagKey TagValues",
        "LFTagPair": "CatalogId TagKey TagValues",
        "LFTagPolicyResource": "CatalogId ResourceType Expression ExpressionName",
        "ListDataCellsFilterRequest": "Table",
        "ListLFTagExpressionsRequest": "CatalogId",
        "ListLFTagsRequest": "CatalogId",
        "ListPermissionsRequest": "CatalogId Principal ResourceType Resource NextToken MaxResults",
        "PrincipalPermissions": "Principal Permissions",
        "PutDataLakeSettingsRequest": "CatalogId DataLakeSettings",
        "RegisterResourceRequest": "ResourceArn UseServiceLinkedRole RoleArn WithFederation HybridAccessEnabled",
        "RemoveLFTagsFromResourceRequest": "CatalogId Resource LFTags",
        "Resource": (
            "Catalog Database Table TableWithColumns DataLocation DataCellsFilter LFTag LFTagPolicy LFTagExpression"
        ),
        "RevokePermissionsRequest": _GRANT,
        "RowFilter": "FilterExpression AllRowsWildcard",
        "SearchDatabasesByLFTagsRequest": "CatalogId Expression",
        "SearchTablesByLFTagsRequest": "CatalogId Expression",
        "TableResource": "CatalogId DatabaseName Name TableWildcard",
        "TableWithColumnsResource": "CatalogId DatabaseName Name ColumnNames ColumnWildcard",
        "UpdateDataCellsFilterRequest": "TableData",
        "UpdateLFTagExpressionRequest": "Name Description CatalogId Expression",
        "UpdateLFTagRequest": "CatalogId TagKey TagValuesToDelete TagValuesToAdd",
        "UpdateResourceRequest": "RoleArn ResourceArn WithFederation HybridAccessEnabled",
    },
    harmless={
        "BatchPermissionsRequestEntry": {"Id": Harmless("It comes back with the entry if that fails.")},
        "GetResourceLFTagsRequest": {"ShowAssignedLFTags": _WHOLE},
        "GetTemporaryGluePartitionCredentialsRequest": {"SupportedPermissionTypes": _WHOLE_TABLES, "AuditContext": _AUDIT},
        "GetTemporaryGlueTableCredentialsRequest": {"SupportedPermissionTypes": _WHOLE_TABLES, "AuditContext": _AUDIT},
        "ListDataCellsFilterRequest": _PAGED,
        "ListLFTagExpressionsRequest": _PAGED,
        "ListLFTagsRequest": {**_PAGED, "ResourceShareType": _WHOLE},
        "ListPermissionsRequest": {"IncludeRelated": _WHOLE},
        "ListResourcesRequest": _PAGED,
        "SearchDatabasesByLFTagsRequest": _PAGED,
        "SearchTablesByLFTagsRequest": _PAGED,
    },
)

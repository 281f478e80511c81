"""The members of the Resource Groups Tagging API's requests."""

from penstock.api.aws.members.declared import Members

__all__ = ["MEMBERS"]

MEMBERS = Members(
    served={
        "GetResourcesInput": "PaginationToken TagFilters ResourcesPerPage ResourceTypeFilters ResourceARNList",
        "TagFilter": "Key Values",
        "GetTagKeysInput": "PaginationToken",
        "GetTagValuesInput": "PaginationToken Key",
        "TagResourcesInput": "ResourceARNList Tags",
        "UntagResourcesInput": "ResourceARNList TagKeys",
    },
    remedies={"TagsPerPage": "Give ResourcesPerPage."},
)

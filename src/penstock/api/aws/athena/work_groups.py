"""Athena's operations on work groups."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock.api.aws.athena.answers import page_arguments, pages
from penstock.api.aws.athena.tags import tags_of
from penstock.api.aws.protocol.handlers import call, member, paged, under
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, Response, present
from penstock.statements.errors import InvalidResource
from penstock.statements.model import ResultOptions
from penstock.statements.work_groups import AUTO, ENGINES, NATIVE, WorkGroup, WorkGroups, WorkGroupSettings

__all__ = ["engine_version", "options_of", "result_options", "work_group_handlers"]


def work_group_handlers(groups: WorkGroups) -> Mapping[str, Handler]:
    """Return the handlers over ``groups``, by operation."""

    def create(request: Request, _context: RequestContext) -> Response:
        configuration = request.get("Configuration", {})
        results = configuration.get("ResultConfiguration", {})
        managed = configuration.get("ManagedQueryResultsConfiguration", {})
        settings = WorkGroupSettings(
            output_location=results.get("OutputLocation"),
            options=options_of(results),
            managed=managed.get("Enabled", False),
            managed_key=managed.get("EncryptionConfiguration", {}).get("KmsKey"),
        )
        description, tags = request.get("Description", ""), tags_of(request)
        groups.create(request["Name"], _with_members(settings, configuration), description=description, tags=tags)
        return {}

    def update(request: Request, _context: RequestContext) -> Response:
        def changed(old: WorkGroup) -> WorkGroup:
            return replace(
                old,
                description=request.get("Description", old.description),
                enabled=request["State"] == "ENABLED" if "State" in request else old.enabled,
                settings=_updated(old.settings, request.get("ConfigurationUpdates", {})),
            )

        groups.change(request["WorkGroup"], changed)
        return {}

    def list_all(request: Request, _context: RequestContext) -> Response:
        with pages():
            page = groups.list(**page_arguments(request))
        summaries = [{**_identity(row), "EngineVersion": engine_version(row.settings.engine)} for row in page.items]
        return paged(page, WorkGroups=summaries)

    def list_engines(_request: Request, _context: RequestContext) -> Response:
        return {"EngineVersions": [engine_version(engine) for engine in ENGINES]}

    recursive = member("RecursiveDeleteOption", default=False)
    return {
        "CreateWorkGroup": create,
        "GetWorkGroup": call(groups.get, "WorkGroup", answer=under("WorkGroup", _shape)),
        "UpdateWorkGroup": update,
        "DeleteWorkGroup": call(groups.delete, "WorkGroup", recursive=recursive),
        "ListWorkGroups": list_all,
        "ListEngineVersions": list_engines,
    }


def options_of(configuration: Mapping[str, Any]) -> ResultOptions:
    """Return the options in a ResultConfiguration."""
    encryption = configuration.get("EncryptionConfiguration", {})
    return ResultOptions(
        encryption=encryption.get("EncryptionOption"),
        kms_key=encryption.get("KmsKey"),
        expected_bucket_owner=configuration.get("ExpectedBucketOwner"),
        acl=configuration.get("AclConfiguration", {}).get("S3AclOption"),
    )


def result_options(options: ResultOptions) -> dict[str, Any]:
    """Return the members of a ResultConfiguration beside its location."""
    encryption = present(EncryptionOption=options.encryption, KmsKey=options.kms_key)
    return present(
        EncryptionConfiguration=encryption if options.encryption is not None else None,
        ExpectedBucketOwner=options.expected_bucket_owner,
        AclConfiguration=None if options.acl is None else {"S3AclOption": options.acl},
    )


def engine_version(selected: str) -> Mapping[str, str]:
    """Return the EngineVersion of what a work group selects."""
    return {"SelectedEngineVersion": selected, "EffectiveEngineVersion": NATIVE if selected == AUTO else selected}


def _with_members(settings: WorkGroupSettings, configuration: Mapping[str, Any]) -> WorkGroupSettings:
    """Return ``settings`` with the members that creation and update have under the same names."""
    return replace(
        settings,
        enforced=configuration.get("EnforceWorkGroupConfiguration", settings.enforced),
        publish_metrics=configuration.get("PublishCloudWatchMetricsEnabled", settings.publish_metrics),
        requester_pays=configuration.get("RequesterPaysEnabled", settings.requester_pays),
        minimum_encryption=configuration.get("EnableMinimumEncryptionConfiguration", settings.minimum_encryption),
        bytes_cutoff=configuration.get("BytesScannedCutoffPerQuery", settings.bytes_cutoff),
        engine=configuration.get("EngineVersion", {}).get("SelectedEngineVersion", settings.engine),
    )


def _updated(settings: WorkGroupSettings, updates: Mapping[str, Any]) -> WorkGroupSettings:
    results = updates.get("ResultConfigurationUpdates", {})
    managed = updates.get("ManagedQueryResultsConfigurationUpdates", {})
    results_options, old = options_of(results), settings.options
    contradictory: list[str] = []

    def changed_member(name: str, new: str | None, before: str | None) -> str | None:
        """Return the new value, None if it is removed, else the one before."""
        removed = results.get(f"Remove{name}", False)
        if removed and new is not None:
            contradictory.append(name)
        return None if removed else before if new is None else new

    encryption = changed_member("EncryptionConfiguration", results_options.encryption, old.encryption)
    # A key belongs to its encryption: both are new, both stay, or both are removed.
    old_key = old.kms_key if encryption is not None else None
    options = ResultOptions(
        encryption=encryption,
        kms_key=results_options.kms_key if results_options.encryption is not None else old_key,
        expected_bucket_owner=changed_member(
            "ExpectedBucketOwner", results_options.expected_bucket_owner, old.expected_bucket_owner
        ),
        acl=changed_member("AclConfiguration", results_options.acl, old.acl),
    )
    key = managed.get("EncryptionConfiguration", {}).get("KmsKey", settings.managed_key)
    changed = replace(
        _with_members(settings, updates),
        output_location=changed_member("OutputLocation", results.get("OutputLocation"), settings.output_location),
        options=options,
        managed=managed.get("Enabled", settings.managed),
        managed_key=None if managed.get("RemoveEncryptionConfiguration") else key,
    )
    if updates.get("RemoveBytesScannedCutoffPerQuery"):
        changed = replace(changed, bytes_cutoff=None)
        contradictory += ["BytesScannedCutoffPerQuery"] if "BytesScannedCutoffPerQuery" in updates else []
    if contradictory:
        name = contradictory[0]
        raise InvalidResource(f"{name} is both given and removed.", remedy=f"Leave {name} or Remove{name} out.")
    return changed


def _identity(group: WorkGroup) -> dict[str, Any]:
    return {
        "Name": group.name,
        "State": "ENABLED" if group.enabled else "DISABLED",
        "Description": group.description,
        "CreationTime": group.created,
    }


def _shape(group: WorkGroup) -> Response:
    settings = group.settings
    key = None if settings.managed_key is None else {"KmsKey": settings.managed_key}
    configuration = present(
        ResultConfiguration=result_options(settings.options) | present(OutputLocation=settings.output_location),
        ManagedQueryResultsConfiguration=present(Enabled=settings.managed, EncryptionConfiguration=key),
        EnforceWorkGroupConfiguration=settings.enforced,
        PublishCloudWatchMetricsEnabled=settings.publish_metrics,
        RequesterPaysEnabled=settings.requester_pays,
        EnableMinimumEncryptionConfiguration=settings.minimum_encryption,
        IdentityCenterConfiguration={"EnableIdentityCenter": False},
        EngineVersion=engine_version(settings.engine),
        BytesScannedCutoffPerQuery=settings.bytes_cutoff,
    )
    return {**_identity(group), "Configuration": configuration}

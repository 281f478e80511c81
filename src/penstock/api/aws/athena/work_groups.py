"""Athena's operations on work groups."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock.api.aws.athena.answers import page_arguments, pages, with_token
from penstock.api.aws.athena.tags import tags_of
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.statements.errors import InvalidResource
from penstock.statements.model import ResultOptions
from penstock.statements.work_groups import AUTO, ENGINES, NATIVE, WorkGroup, WorkGroups, WorkGroupSettings

__all__ = ["engine_version", "options_of", "result_options", "work_group_handlers"]


def work_group_handlers(groups: WorkGroups) -> Mapping[str, Handler]:
    """Return the handlers over ``groups``, by operation."""
    handlers = _WorkGroups(groups)
    return {
        "CreateWorkGroup": handlers.create,
        "GetWorkGroup": handlers.get,
        "UpdateWorkGroup": handlers.update,
        "DeleteWorkGroup": handlers.delete,
        "ListWorkGroups": handlers.list,
        "ListEngineVersions": handlers.list_engines,
    }


class _WorkGroups:
    def __init__(self, groups: WorkGroups) -> None:
        self._groups = groups

    def create(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        configuration = request.get("Configuration", {})
        results, managed = (
            configuration.get("ResultConfiguration", {}),
            configuration.get("ManagedQueryResultsConfiguration", {}),
        )
        settings = WorkGroupSettings(
            output_location=results.get("OutputLocation"),
            options=options_of(results),
            managed=managed.get("Enabled", False),
            managed_key=managed.get("EncryptionConfiguration", {}).get("KmsKey"),
        )
        self._groups.create(
            request["Name"],
            _with_members(settings, configuration),
            description=request.get("Description", ""),
            tags=tags_of(request),
        )
        return {}

    def get(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        group = self._groups.get(request["WorkGroup"])
        return {"WorkGroup": {**_identity(group), "Configuration": _configuration(group.settings)}}

    def update(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        def changed(old: WorkGroup) -> WorkGroup:
            return replace(
                old,
                description=request.get("Description", old.description),
                enabled=request["State"] == "ENABLED" if "State" in request else old.enabled,
                settings=_updated(old.settings, request.get("ConfigurationUpdates", {})),
            )

        self._groups.change(request["WorkGroup"], changed)
        return {}

    def delete(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        self._groups.delete(request["WorkGroup"], recursive=request.get("RecursiveDeleteOption", False))
        return {}

    def list(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        with pages():
            page = self._groups.list(**page_arguments(request))
        summaries = [{**_identity(item), "EngineVersion": engine_version(item.settings.engine)} for item in page.items]
        return with_token({"WorkGroups": summaries}, page.next_token)

    def list_engines(self, _request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        return {"EngineVersions": [engine_version(engine) for engine in ENGINES]}


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
    answer: dict[str, Any] = {}
    if options.encryption is not None:
        key = {} if options.kms_key is None else {"KmsKey": options.kms_key}
        answer["EncryptionConfiguration"] = {"EncryptionOption": options.encryption, **key}
    if options.expected_bucket_owner is not None:
        answer["ExpectedBucketOwner"] = options.expected_bucket_owner
    if options.acl is not None:
        answer["AclConfiguration"] = {"S3AclOption": options.acl}
    return answer


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
    results, managed = (
        updates.get("ResultConfigurationUpdates", {}),
        updates.get("ManagedQueryResultsConfigurationUpdates", {}),
    )
    results_options, old = options_of(results), settings.options
    contradictory: list[str] = []

    def member(name: str, new: str | None, kept: str | None) -> str | None:
        """Return the new value, None if it is removed, else the kept one."""
        removed = results.get(f"Remove{name}", False)
        if removed and new is not None:
            contradictory.append(name)
        return None if removed else kept if new is None else new

    encryption = member("EncryptionConfiguration", results_options.encryption, old.encryption)
    options = ResultOptions(
        encryption=encryption,
        kms_key=results_options.kms_key
        if results_options.encryption is not None
        else old.kms_key
        if encryption is not None
        else None,
        expected_bucket_owner=member(
            "ExpectedBucketOwner", results_options.expected_bucket_owner, old.expected_bucket_owner
        ),
        acl=member("AclConfiguration", results_options.acl, old.acl),
    )
    key = managed.get("EncryptionConfiguration", {}).get("KmsKey", settings.managed_key)
    changed = replace(
        _with_members(settings, updates),
        output_location=member("OutputLocation", results.get("OutputLocation"), settings.output_location),
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


def _configuration(settings: WorkGroupSettings) -> Mapping[str, Any]:
    managed: dict[str, Any] = {"Enabled": settings.managed}
    if settings.managed_key is not None:
        managed["EncryptionConfiguration"] = {"KmsKey": settings.managed_key}
    results = result_options(settings.options)
    if settings.output_location is not None:
        results["OutputLocation"] = settings.output_location
    answer: dict[str, Any] = {
        "ResultConfiguration": results,
        "ManagedQueryResultsConfiguration": managed,
        "EnforceWorkGroupConfiguration": settings.enforced,
        "PublishCloudWatchMetricsEnabled": settings.publish_metrics,
        "RequesterPaysEnabled": settings.requester_pays,
        "EnableMinimumEncryptionConfiguration": settings.minimum_encryption,
        "IdentityCenterConfiguration": {"EnableIdentityCenter": False},
        "EngineVersion": engine_version(settings.engine),
    }
    if settings.bytes_cutoff is not None:
        answer["BytesScannedCutoffPerQuery"] = settings.bytes_cutoff
    return answer

"""Compatibility levels and modes of subjects and contexts, as Confluent's callers name and inherit them.

A subject's own setting wins, then its context's, then the one for all contexts; without any it is BACKWARD and READWRITE.
A schema that Glue's callers made with DISABLED takes no new versions: it shows as level NONE in mode READONLY.
"""

from dataclasses import dataclass, replace

from penstock.registry.errors import SchemaNotFound
from penstock.registry.identity import registry_resource, schema_resource
from penstock.registry.model import GLOBAL_SCOPE, IMPORT, READONLY, READWRITE, Policy, Schema
from penstock.registry.service import RegistryService
from penstock.registry.subject_errors import (
    BadLevel,
    BadMode,
    InvalidSubject,
    LevelNotConfigured,
    ModeNotConfigured,
    NotPermitted,
    SubjectNotFound,
)
from penstock.registry.subject_names import SubjectName, parse_subject
from penstock.schema.compatibility import CompatibilityMode

__all__ = ["SubjectConfig", "SubjectPolicies", "level_name"]

_MODES = frozenset({READWRITE, READONLY, IMPORT})


def level_name(mode: CompatibilityMode) -> str:
    """Confluent's word for a mode: ``BACKWARD_TRANSITIVE`` for ``BACKWARD_ALL``."""
    if mode is CompatibilityMode.DISABLED:
        return CompatibilityMode.NONE.value
    return mode.value.replace("_ALL", "_TRANSITIVE")


_LEVELS = {level_name(mode): mode for mode in CompatibilityMode if mode is not CompatibilityMode.DISABLED}


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectConfig:
    """A compatibility level by Confluent's name, whether schemas are normalised, and which subject is meant by this one.

    None: nothing is said. An empty ``alias`` takes one back.
    """

    level: str | None = None
    normalize: bool | None = None
    alias: str | None = None


class SubjectPolicies:
    """Levels and modes by :class:`SubjectName`; one without a name is the whole context, None is all contexts."""

    def __init__(self, service: RegistryService) -> None:
        self._service = service

    def config(self, subject: SubjectName | None, *, inherited: bool) -> SubjectConfig:
        """The configuration: with ``inherited`` what holds, else what was set here; :class:`LevelNotConfigured`."""
        chain = self._chain(subject)
        own = chain[0]
        if not inherited and subject is not None and (own.compatibility, own.normalize, own.alias) == (None, None, None):
            raise LevelNotConfigured(subject)
        said = chain if inherited or subject is None else chain[:1]
        mode = next((policy.compatibility for policy in said if policy.compatibility is not None), None)
        normalize = next((policy.normalize for policy in said if policy.normalize is not None), None)
        if mode is None and (inherited or subject is None):
            mode = CompatibilityMode.BACKWARD
        return SubjectConfig(level=None if mode is None else level_name(mode), normalize=normalize, alias=own.alias)

    def meant(self, subject: SubjectName) -> SubjectName:
        """The subject that ``subject`` is an alias of, itself where it is none; an alias of an alias is not followed."""
        if subject.registry is None or not subject.name:
            return subject
        policy = self._service.policies.get(_scope(subject))
        return subject if policy is None or not policy.alias else parse_subject(policy.alias, context=subject.context)

    def set_config(self, subject: SubjectName | None, wanted: SubjectConfig) -> None:
        """Change what is given of the configuration.

        :class:`BadLevel`, :class:`InvalidSubject` for an alias, :class:`NotPermitted` where the mode is READONLY.
        """
        if wanted.alias:
            self._check_alias(subject, wanted.alias)
        mode = None
        if wanted.level is not None:
            mode = _LEVELS.get(wanted.level.upper())
            if mode is None:
                raise BadLevel(wanted.level)
        self._check_configurable(subject)
        if mode is not None and self._schema(subject) is not None:
            self._set_own(subject, mode)
            mode = None

        def changed(before: Policy) -> Policy:
            return replace(
                before,
                compatibility=before.compatibility if mode is None else mode,
                normalize=before.normalize if wanted.normalize is None else wanted.normalize,
                alias=before.alias if wanted.alias is None else wanted.alias or None,
            )

        self._service.policies.change(_scope(subject), changed)

    def delete_config(self, subject: SubjectName | None) -> SubjectConfig:
        """Inherit again; gives what was set. :class:`SubjectNotFound` where nothing was, :class:`NotPermitted`."""
        self._check_configurable(subject)
        try:
            before = self.config(subject, inherited=False)
        except LevelNotConfigured:
            raise SubjectNotFound(subject) from None
        if self._schema(subject) is not None:
            self._set_own(subject, None)
        self._service.policies.change(
            _scope(subject), lambda policy: replace(policy, compatibility=None, normalize=None, alias=None)
        )
        return before

    def mode(self, subject: SubjectName | None, *, inherited: bool) -> str:
        """The mode: with ``inherited`` the one that holds, else the one set here; :class:`ModeNotConfigured`."""
        chain = self._chain(subject)
        said = chain if inherited or subject is None else chain[:1]
        if said[0].compatibility is CompatibilityMode.DISABLED:
            return READONLY
        mode = next((policy.mode for policy in said if policy.mode is not None), None)
        if mode is None and not (inherited or subject is None):
            raise ModeNotConfigured(subject)
        return mode or READWRITE

    def set_mode(self, subject: SubjectName | None, mode: str, *, force: bool) -> str:
        """Set a mode: its name in capitals. :class:`BadMode`; :class:`NotPermitted` for IMPORT over existing schemas."""
        wanted = mode.upper()
        if wanted not in _MODES:
            raise BadMode(mode)
        if wanted == IMPORT and not force and self._holds_versions(subject):
            raise NotPermitted(
                "Cannot import since found existing subjects.",
                remedy="Import into an empty context or subject, or give force=true.",
            )
        self._service.policies.change(_scope(subject), lambda policy: replace(policy, mode=wanted))
        return wanted

    def delete_mode(self, subject: SubjectName | None) -> str:
        """Inherit again; gives what was set. :class:`SubjectNotFound` where nothing was."""
        before = self._service.policies.change(_scope(subject), lambda policy: replace(policy, mode=None))
        if before is None or before.mode is None:
            if subject is None:
                return READWRITE
            raise SubjectNotFound(subject)
        return before.mode

    def forget(self, subject: SubjectName) -> None:
        """Drop level and mode of a subject that is deleted."""
        self._service.policies.delete(_scope(subject))
        if self._schema(subject) is not None:
            self._set_own(subject, None)

    def check_writable(self, subject: SubjectName) -> str:
        """The mode of ``subject``; :class:`NotPermitted` where it is READONLY."""
        # DISABLED, which shows as READONLY, is told by the registration itself.
        mode = self._service.policies.mode(subject.key)
        if mode == READONLY:
            raise _read_only(subject)
        return mode

    def _check_alias(self, subject: SubjectName | None, alias: str) -> None:
        if subject is None or subject.registry is None or not subject.name:
            raise InvalidSubject(alias, "a context has no alias")
        if parse_subject(alias, context=subject.context).key == subject.key:
            raise InvalidSubject(alias, "it is the subject itself")

    def _check_configurable(self, subject: SubjectName | None) -> None:
        """As Confluent's server: what takes no schemas takes no other level either, only another mode."""
        said = next((policy.mode for policy in self._chain(subject) if policy.mode is not None), None)
        if said == READONLY:
            raise _read_only(subject)

    def _chain(self, subject: SubjectName | None) -> list[Policy]:
        """What the scope of ``subject`` and those around it say, the nearest first."""
        scope = _scope(subject)
        if subject is None or subject.registry is None or not subject.name:
            scopes = [scope] if scope == GLOBAL_SCOPE else [scope, GLOBAL_SCOPE]
            return [self._service.policies.get(each) or Policy(scope=each) for each in scopes]
        chain = list(self._service.policies.chain(subject.key))
        own = chain.pop(0) if chain and chain[0].scope == scope else Policy(scope=scope)
        schema = self._schema(subject)
        if schema is not None and schema.compatibility is not None:
            own = replace(own, compatibility=schema.compatibility)
        return [own, *chain]

    def _schema(self, subject: SubjectName | None) -> Schema | None:
        if subject is None or subject.registry is None or not subject.name:
            return None
        try:
            return self._service.schemas.get(subject.key)
        except SchemaNotFound:
            return None

    def _set_own(self, subject: SubjectName | None, mode: CompatibilityMode | None) -> None:
        assert subject is not None
        self._service.schemas.set_compatibility(subject.key, mode)

    def _holds_versions(self, subject: SubjectName | None) -> bool:
        if subject is None or subject.registry is None:
            return bool(self._service.schemas.subjects(None, count=1))
        if not subject.name:
            return bool(self._service.schemas.subjects(subject.registry, count=1))
        return bool(self._service.versions.heads(subject.key))


def _read_only(subject: SubjectName | None) -> NotPermitted:
    what = "The registry" if subject is None else f"Subject '{subject}'"
    return NotPermitted(f"{what} is in read-only mode.", remedy="PUT /mode/SUBJECT or /mode with READWRITE allows writes.")


def _scope(subject: SubjectName | None) -> str:
    if subject is None or subject.registry is None:
        return GLOBAL_SCOPE
    if not subject.name:
        return registry_resource(subject.registry)
    return schema_resource(subject.key)

"""Compatibility levels and modes of subjects and contexts, by Confluent's names and rules of inheritance.

A subject's own setting wins, then its context's, then the one for all contexts; without any it is BACKWARD and READWRITE.
A schema that Glue's clients created with DISABLED refuses new versions: it is shown with level NONE and mode READONLY.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.registry.identity import registry_resource, schema_resource
from penstock.registry.model import (
    GLOBAL_SCOPE,
    IMPORT,
    READONLY,
    READONLY_MODES,
    READONLY_OVERRIDE,
    READWRITE,
    Schema,
    ScopeConfig,
)
from penstock.registry.policies.contracts import ContractRules
from penstock.registry.policies.scopes import prevailing_mode
from penstock.registry.service import RegistryService
from penstock.registry.subjects.errors import (
    BadLevel,
    BadMode,
    InvalidSubject,
    LevelNotConfigured,
    ModeNotConfigured,
    NotPermitted,
    SubjectNotFound,
)
from penstock.registry.subjects.names import SubjectName, parse_subject
from penstock.schema.compatibility import CompatibilityMode
from penstock.schema.rules import CONFLUENT_RULES, CompatibilityRules

__all__ = ["LENIENT", "STRICT", "SubjectConfig", "SubjectConfigs", "level_name"]

_MODES = frozenset({READWRITE, READONLY, READONLY_OVERRIDE, IMPORT})
STRICT = "STRICT"
LENIENT = "LENIENT"
_LENIENT = replace(CONFLUENT_RULES, json=replace(CONFLUENT_RULES.json, lenient_content_models=True))


def level_name(mode: CompatibilityMode) -> str:
    """Return Confluent's name of a mode: ``BACKWARD_TRANSITIVE`` for ``BACKWARD_ALL``."""
    if mode is CompatibilityMode.DISABLED:
        return CompatibilityMode.NONE.value
    return mode.value.replace("_ALL", "_TRANSITIVE")


_LEVELS = {level_name(mode): mode for mode in CompatibilityMode if mode is not CompatibilityMode.DISABLED}


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectConfig:
    """A compatibility level by Confluent's name, whether schemas are normalised, which subject it is an alias of.

    ``policy`` is STRICT or LENIENT, ``group`` a property of the metadata, the metadata are canonical contracts. None:
    not set; in a change, that it is no longer set.
    """

    level: str | None = None
    normalize: bool | None = None
    alias: str | None = None
    validate_fields: bool | None = None
    policy: str | None = None
    group: str | None = None
    default_metadata: str | None = None
    override_metadata: str | None = None

    @property
    def contracts(self) -> ContractRules:
        """The requirements for new versions."""
        return ContractRules(
            default_metadata=self.default_metadata,
            override_metadata=self.override_metadata,
            group=self.group,
            reserves=bool(self.validate_fields),
        )

    @property
    def rules(self) -> CompatibilityRules:
        """The compatibility rules."""
        return _LENIENT if self.policy == LENIENT else CONFLUENT_RULES


# Members of a subject's config and of a scope config; the nearest scope that sets one wins.
_MEMBERS = {
    "normalize": "normalize",
    "validate_fields": "validate_fields",
    "policy": "compatibility_policy",
    "group": "compatibility_group",
    "default_metadata": "default_metadata",
    "override_metadata": "override_metadata",
}


class SubjectConfigs:
    """Levels and modes by :class:`SubjectName`; one without a name is the whole context, None is all contexts."""

    def __init__(self, service: RegistryService) -> None:
        self._service = service

    def config(self, subject: SubjectName | None, *, inherited: bool) -> SubjectConfig:
        """Return the configuration: effective with ``inherited``, else what is set here; :class:`LevelNotConfigured`."""
        chain = self._chain(subject)
        own = chain[0]
        if not inherited and subject is not None and replace(own, mode=None) == ScopeConfig(scope=own.scope):
            raise LevelNotConfigured(subject)
        configs = chain if inherited or subject is None else chain[:1]
        mode = next((config.compatibility for config in configs if config.compatibility is not None), None)
        settings = {name: _nearest(configs, member) for name, member in _MEMBERS.items()}
        if mode is None and (inherited or subject is None):
            mode = CompatibilityMode.BACKWARD
        return SubjectConfig(level=None if mode is None else level_name(mode), alias=own.alias, **settings)

    def resolve_alias(self, subject: SubjectName) -> SubjectName:
        """Return the subject that ``subject`` is an alias of, or itself; an alias of an alias is not followed."""
        if subject.registry is None or not subject.name:
            return subject
        config = self._service.configs.get(_scope(subject))
        return subject if config is None or not config.alias else parse_subject(config.alias, context=subject.context)

    def set_config(self, subject: SubjectName | None, members: Mapping[str, Any]) -> SubjectConfig:
        """Change the given members of :class:`SubjectConfig` and return the scope's config.

        :class:`BadLevel`, :class:`InvalidSubject` for an alias, :class:`NotPermitted` if the mode is READONLY.
        """
        if members.get("alias"):
            self._check_alias(subject, members["alias"])
        changes = {_MEMBERS[name]: value for name, value in members.items() if name in _MEMBERS}
        if "alias" in members:
            changes["alias"] = members["alias"] or None
        level = members.get("level")
        mode = None if level is None else _LEVELS.get(level.upper())
        if level is not None and mode is None:
            raise BadLevel(level)
        self._check_configurable(subject)
        if "level" in members:
            if self._schema(subject) is not None:
                self._set_own(subject, mode)
                # One that was set before the first version would apply again.
                changes["compatibility"] = None
            else:
                changes["compatibility"] = mode
        self._service.configs.change(_scope(subject), lambda before: replace(before, **changes))
        try:
            config = self.config(subject, inherited=False)
            return replace(config, level=None) if self._chain(subject)[0].compatibility is None else config
        except LevelNotConfigured:
            return SubjectConfig()

    def delete_config(self, subject: SubjectName | None) -> SubjectConfig:
        """Inherit again; return what was set. :class:`SubjectNotFound` if nothing was, :class:`NotPermitted`."""
        self._check_configurable(subject)
        try:
            before = self.config(subject, inherited=False)
        except LevelNotConfigured:
            raise SubjectNotFound(subject) from None
        if self._schema(subject) is not None:
            self._set_own(subject, None)
        self._service.configs.change(_scope(subject), lambda config: ScopeConfig(scope=config.scope, mode=config.mode))
        return before

    def mode(self, subject: SubjectName | None, *, inherited: bool) -> str:
        """Return the mode: with ``inherited`` the effective one, else the one set here; :class:`ModeNotConfigured`."""
        chain = self._chain(subject)
        if prevailing_mode(chain) == READONLY_OVERRIDE:
            return READONLY_OVERRIDE
        configs = chain if inherited or subject is None else chain[:1]
        if configs[0].compatibility is CompatibilityMode.DISABLED:
            return READONLY
        mode = next((config.mode for config in configs if config.mode is not None), None)
        if mode is None and not (inherited or subject is None):
            raise ModeNotConfigured(subject)
        return mode or READWRITE

    def set_mode(self, subject: SubjectName | None, mode: str, *, force: bool) -> str:
        """Set a mode: its name in capitals. :class:`BadMode`; :class:`NotPermitted` for IMPORT over existing schemas."""
        name = mode.upper()
        if name not in _MODES:
            raise BadMode(mode)
        if name == IMPORT and not force and self._holds_versions(subject):
            raise NotPermitted(
                "Cannot import since found existing subjects.",
                remedy="Import into an empty context or subject, or give force=true.",
            )
        self._service.configs.change(_scope(subject), lambda config: replace(config, mode=name))
        return name

    def delete_mode(self, subject: SubjectName | None) -> str:
        """Inherit again; return what was set. :class:`SubjectNotFound` if nothing was."""
        before = self._service.configs.change(_scope(subject), lambda config: replace(config, mode=None))
        if before is None or before.mode is None:
            if subject is None:
                return READWRITE
            raise SubjectNotFound(subject)
        return before.mode

    def forget(self, subject: SubjectName) -> None:
        """Drop level and mode of a subject that is deleted."""
        self._service.configs.delete(_scope(subject))
        if self._schema(subject) is not None:
            self._set_own(subject, None)

    def prevailing(self, subject: SubjectName) -> tuple[str, SubjectConfig]:
        """Return the effective mode of ``subject`` and its effective configuration without the level, from one read."""
        # DISABLED, which is shown as READONLY, is reported by the registration itself.
        chain = self._service.configs.chain(subject.key)
        settings = {name: _nearest(chain, member) for name, member in _MEMBERS.items()}
        return prevailing_mode(chain) or READWRITE, SubjectConfig(**settings)

    def check_writable(self, subject: SubjectName, mode: str | None = None) -> None:
        """:class:`NotPermitted` if the mode of ``subject`` is READONLY; None reads it."""
        if (mode or self._service.configs.mode(subject.key)) in READONLY_MODES:
            raise _read_only(subject)

    def _check_alias(self, subject: SubjectName | None, alias: str) -> None:
        if subject is None or subject.registry is None or not subject.name:
            raise InvalidSubject(alias, "a context has no alias")
        if parse_subject(alias, context=subject.context).key == subject.key:
            raise InvalidSubject(alias, "it is the subject itself")

    def _check_configurable(self, subject: SubjectName | None) -> None:
        """As Confluent's server does: a read-only subject refuses another level, too, but not another mode."""
        if prevailing_mode(self._chain(subject)) in READONLY_MODES:
            raise _read_only(subject)

    def _chain(self, subject: SubjectName | None) -> list[ScopeConfig]:
        """Return the configs of the scopes of ``subject``, the nearest first."""
        scope = _scope(subject)
        if subject is None or subject.registry is None or not subject.name:
            scopes = [scope] if scope == GLOBAL_SCOPE else [scope, GLOBAL_SCOPE]
            return [self._service.configs.get(name) or ScopeConfig(scope=name) for name in scopes]
        chain = list(self._service.configs.chain(subject.key))
        own = chain.pop(0) if chain and chain[0].scope == scope else ScopeConfig(scope=scope)
        schema = self._schema(subject)
        if schema is not None and schema.compatibility is not None:
            own = replace(own, compatibility=schema.compatibility)
        return [own, *chain]

    def _schema(self, subject: SubjectName | None) -> Schema | None:
        if subject is None or subject.registry is None or not subject.name:
            return None
        return self._service.schemas.find(subject.key)

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
    what = "The registry" if subject is None else f"Subject {subject} in context :{subject.context}:"
    return NotPermitted(f"{what} is in read-only mode", remedy="PUT /mode/SUBJECT or /mode with READWRITE allows writes.")


def _nearest(chain: Sequence[ScopeConfig], member: str) -> Any:
    return next((value for config in chain if (value := getattr(config, member)) is not None), None)


def _scope(subject: SubjectName | None) -> str:
    if subject is None or subject.registry is None:
        return GLOBAL_SCOPE
    if not subject.name:
        return registry_resource(subject.registry)
    return schema_resource(subject.key)

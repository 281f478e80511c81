"""Handlers of /config and /mode, of all contexts, of a context, of a subject; and the members of a configuration."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from penstock.api.confluent.errors import BadRequest, UnknownMember
from penstock.api.confluent.requests import Request, read_contract, read_text
from penstock.api.confluent.routes import Route
from penstock.registry.subjects.configs import LENIENT, STRICT, SubjectConfig, SubjectConfigs
from penstock.registry.subjects.errors import BadLevel, RulesNotServed

__all__ = ["config_members", "routes", "shown_config"]

_MAX_GROUP = 255
# Members that Confluent's server has and this one would lose, with the value that asks for nothing.
_UNSERVED: Mapping[str, Any] = {
    "defaultRuleSet": None,
    "overrideRuleSet": None,
    "validateRules": False,
    "validateNewSchemas": True,
    "aliasForDeks": None,
}


def config_members(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of :class:`SubjectConfig` that a body gives; null unsets one.

    Raises :class:`RulesNotServed` for members that would be lost, :class:`UnknownMember` for others, and
    :class:`BadRequest` for values of the wrong type.
    """
    for name, value in body.items():
        if name in _UNSERVED and value is not None and value != {} and value is not _UNSERVED[name]:
            raise RulesNotServed(
                f"The configuration has {name}, which this registry does not serve.",
                remedy="Leave it out; a client that depends on it must not use this registry.",
            )
        if name not in _UNSERVED and name not in _READ:
            raise UnknownMember(name)
    return {_READ[name][0]: _READ[name][1](body, name) for name in body if name in _READ}


def shown_config(config: SubjectConfig, *, level: str = "compatibilityLevel") -> dict[str, Any]:
    """Return a configuration as GET answers it; PUT has another name for its ``level``."""
    members = {
        level: config.level,
        "normalize": config.normalize,
        "alias": config.alias,
        "validateFields": config.validate_fields,
        "compatibilityPolicy": config.policy,
        "compatibilityGroup": config.group,
        "defaultMetadata": _loaded(config.default_metadata),
        "overrideMetadata": _loaded(config.override_metadata),
    }
    return {name: value for name, value in members.items() if value is not None}


def _loaded(contract: str | None) -> Any:
    return None if contract is None else json.loads(contract)


def _level(body: Mapping[str, Any], name: str) -> str | None:
    if body[name] is None:
        return None
    # Confluent's clients send either name. If both are given they have to agree, or one would be ignored.
    names = [
        read_text(body, member).upper() for member in ("compatibility", "compatibilityLevel") if body.get(member) is not None
    ]
    if len(set(names)) > 1:
        raise BadRequest("The members compatibility and compatibilityLevel give different levels.")
    if not names[0]:
        raise BadLevel("")
    return names[0]


def _flag(body: Mapping[str, Any], name: str) -> bool | None:
    value = body[name]
    if value is not None and type(value) is not bool:
        raise BadRequest(f'The member "{name}" is neither true nor false.')
    return value


def _alias(body: Mapping[str, Any], name: str) -> str | None:
    return read_text(body, name) or None


def _policy(body: Mapping[str, Any], name: str) -> str | None:
    text = read_text(body, name).upper() or None
    if text not in {None, STRICT, LENIENT}:
        raise RulesNotServed(f"The compatibilityPolicy '{text[:40]}' is not served.", remedy="Use STRICT or LENIENT.")
    return text


def _group(body: Mapping[str, Any], name: str) -> str | None:
    text = read_text(body, name)
    if len(text) > _MAX_GROUP:
        raise BadRequest(f'The member "{name}" has {len(text)} characters; {_MAX_GROUP} are accepted.')
    return text or None


def _metadata(body: Mapping[str, Any], name: str) -> str | None:
    return read_contract(body[name], name)


_READ: Mapping[str, tuple[str, Callable[[Mapping[str, Any], str], Any]]] = {
    "compatibility": ("level", _level),
    "compatibilityLevel": ("level", _level),
    "normalize": ("normalize", _flag),
    "alias": ("alias", _alias),
    "validateFields": ("validate_fields", _flag),
    "compatibilityPolicy": ("policy", _policy),
    "compatibilityGroup": ("group", _group),
    "defaultMetadata": ("default_metadata", _metadata),
    "overrideMetadata": ("override_metadata", _metadata),
}


def routes(configs: SubjectConfigs) -> list[Route]:
    """The routes of levels and modes."""
    served = _Configs(configs)
    table: list[Route] = []
    for path, noun in (("/config", "config"), ("/mode", "mode")):
        for scope in (path, f"{path}/{{subject}}"):
            for method, verb in (("GET", "get"), ("PUT", "set"), ("DELETE", "delete")):
                name = f"{verb}_{noun}"
                table.append(Route(method=method, path=scope, name=name, handler=getattr(served, name)))
    return table


class _Configs:
    def __init__(self, configs: SubjectConfigs) -> None:
        self._configs = configs

    def get_config(self, request: Request) -> Any:
        return shown_config(self._configs.config(request.scope, inherited=request.query.flag("defaultToGlobal")))

    def set_config(self, request: Request) -> Any:
        # The scope's resulting configuration, not what was sent, as in updateConfig of Confluent's registry.
        return shown_config(self._configs.set_config(request.scope, config_members(request.body)), level="compatibility")

    def delete_config(self, request: Request) -> Any:
        return shown_config(self._configs.delete_config(request.scope))

    def get_mode(self, request: Request) -> Any:
        return {"mode": self._configs.mode(request.scope, inherited=request.query.flag("defaultToGlobal"))}

    def set_mode(self, request: Request) -> Any:
        for name in request.body:
            if name != "mode":
                raise UnknownMember(name)
        mode = request.body.get("mode")
        if not isinstance(mode, str):
            raise BadRequest('The member "mode" is missing or not a string.')
        return {"mode": self._configs.set_mode(request.scope, mode, force=request.query.flag("force"))}

    def delete_mode(self, request: Request) -> Any:
        request.query.refuse("recursive")
        return {"mode": self._configs.delete_mode(request.scope)}

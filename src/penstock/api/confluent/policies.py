"""Handlers of /config and /mode: of all contexts, of a context, of a subject."""

from typing import Any

from penstock.api.confluent.configs import config_members, shown_config
from penstock.api.confluent.errors import BadRequest, UnknownMember
from penstock.api.confluent.requests import Request
from penstock.api.confluent.routes import Route
from penstock.registry.subjects.configs import SubjectConfigs

__all__ = ["routes"]


def routes(configs: SubjectConfigs) -> list[Route]:
    """The routes of levels and modes."""
    served = _Configs(configs)
    found: list[Route] = []
    for path, noun in (("/config", "config"), ("/mode", "mode")):
        for scope in (path, f"{path}/{{subject}}"):
            for method, verb in (("GET", "get"), ("PUT", "set"), ("DELETE", "delete")):
                name = f"{verb}_{noun}"
                found.append(Route(method=method, path=scope, name=name, handler=getattr(served, name)))
    return found


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

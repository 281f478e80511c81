"""Glue's operations on data quality rulesets: stored by name, with their rules read as a job reads them.

Evaluation runs by the API are not served: a job's script evaluates a ruleset by EvaluateDataQuality.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from penstock.api.aws.protocol.handlers import call, paged
from penstock.api.aws.protocol.operations import Handler, OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request, Response, present
from penstock.catalog.service import CatalogService
from penstock.errors import AlreadyExists, NotFound
from penstock.glue.quality.parsing import parse
from penstock.paging import page_of
from penstock.statements.resources import AccountResource, ResourceKind, ResourceStore
from penstock.tags import changed_tags, check_tags

__all__ = ["DataQualityRulesets", "operations"]

_MAX_RULESETS = 2_000
_PAGE = 100
_TARGET = ("TableName", "DatabaseName", "CatalogId")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRuleset(AccountResource):
    """A ruleset; times are in seconds since 1970. ``token`` is the client's, which makes a retry no second ruleset."""

    ruleset: str
    rules: int
    created: float
    modified: float
    description: str | None = None
    target: Mapping[str, str] | None = None
    security: str | None = None
    tags: Mapping[str, str] | None = None
    token: str | None = None


_KIND: ResourceKind[StoredRuleset] = ResourceKind("quality-ruleset", lambda stored: StoredRuleset(**stored))


class DataQualityRulesets:
    """The rulesets of one account; a :class:`~penstock.api.aws.catalog.tags.Tagged`."""

    def __init__(
        self, store: ResourceStore, catalog: CatalogService, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._now = now

    def create(self, request: Request) -> None:
        """Store a ruleset. Raises InvalidInput for DQDL that cannot be read, NotFound for its table, AlreadyExists."""
        target = request.get("TargetTable")
        if target is not None:
            self._catalog.table(target["DatabaseName"].lower(), target["TableName"].lower())
            target = {name: target[name] for name in _TARGET if name in target}
        tags = request.get("Tags") or {}
        check_tags(tags)
        now = self._now().timestamp()
        ruleset = StoredRuleset(
            name=request["Name"],
            ruleset=request["Ruleset"],
            rules=_count(request["Ruleset"]),
            created=now,
            modified=now,
            description=request.get("Description"),
            target=target,
            security=request.get("DataQualitySecurityConfiguration"),
            tags=dict(tags),
            token=request.get("ClientToken"),
        )
        if self._store.add(_KIND, ruleset, limit=_MAX_RULESETS):
            return
        stored = self.get(ruleset.name)
        if ruleset.token is None or (stored.token, stored.ruleset) != (ruleset.token, ruleset.ruleset):
            raise AlreadyExists(f"Data quality ruleset {ruleset.name[:100]} already exists.")

    def get(self, name: str) -> StoredRuleset:
        """Return the ruleset, or raise NotFound."""
        ruleset = self._store.get(_KIND, "", name)
        if ruleset is None:
            raise _missing(name)
        return ruleset

    def update(self, name: str, *, ruleset: str | None, description: str | None) -> StoredRuleset:
        """Replace the rules, the description or both; raise InvalidInput, NotFound."""
        rules = None if ruleset is None else _count(ruleset)

        def change(old: StoredRuleset) -> StoredRuleset:
            text = old.ruleset if ruleset is None else ruleset
            count = old.rules if rules is None else rules
            about = old.description if description is None else description
            return replace(old, ruleset=text, rules=count, description=about, modified=self._now().timestamp())

        return self._change(name, change)

    def delete(self, name: str) -> None:
        """Delete the ruleset, or raise NotFound."""
        if not self._store.delete(_KIND, "", name):
            raise _missing(name)

    def list(self) -> list[StoredRuleset]:
        """Return all rulesets, by name."""
        return list(self._store.list(_KIND, "", after=None, limit=_MAX_RULESETS))

    def tags(self, name: str) -> Mapping[str, str]:
        """Return the tags of a ruleset."""
        return self.get(name).tags or {}

    def change_tags(self, name: str, *, add: Mapping[str, str] | None = None, remove: Any = ()) -> None:
        """Add or replace tags, then remove some."""
        check_tags(add or {})
        self._change(name, lambda old: replace(old, tags=changed_tags(old.tags or {}, add or {}, remove)))

    def _change(self, name: str, change: Callable[[StoredRuleset], StoredRuleset]) -> StoredRuleset:
        ruleset = self._store.change(_KIND, "", name, change)
        if ruleset is None:
            raise _missing(name)
        return ruleset


def operations(rulesets: DataQualityRulesets) -> OperationSet:
    """Return Glue's operations on rulesets."""

    def create(request: Request, _context: RequestContext) -> Response:
        rulesets.create(request)
        return {"Name": request["Name"]}

    def get(request: Request, _context: RequestContext) -> Response:
        ruleset = rulesets.get(request["Name"])
        return {
            **_shape(ruleset),
            **present(Ruleset=ruleset.ruleset, DataQualitySecurityConfiguration=ruleset.security),
        }

    def update(request: Request, _context: RequestContext) -> Response:
        about = request.get("Description")
        ruleset = rulesets.update(request["Name"], ruleset=request.get("Ruleset"), description=about)
        return present(Name=ruleset.name, Description=ruleset.description, Ruleset=ruleset.ruleset)

    def list_all(request: Request, _context: RequestContext) -> Response:
        chosen = [ruleset for ruleset in rulesets.list() if _fits(ruleset, request)]
        limit = request.get("MaxResults") or _PAGE
        page = page_of("rulesets", request.get("NextToken"), limit, chosen, lambda ruleset: ruleset.name)
        return paged(page, Rulesets=[{**_shape(ruleset), "RuleCount": ruleset.rules} for ruleset in page.items])

    handlers: dict[str, Handler] = {
        "CreateDataQualityRuleset": create,
        "GetDataQualityRuleset": get,
        "UpdateDataQualityRuleset": update,
        "DeleteDataQualityRuleset": call(rulesets.delete, "Name"),
        "ListDataQualityRulesets": list_all,
    }
    return OperationSet(service="glue", handlers=handlers)


def _shape(ruleset: StoredRuleset) -> dict[str, Any]:
    return present(
        Name=ruleset.name,
        Description=ruleset.description,
        TargetTable=ruleset.target,
        CreatedOn=datetime.fromtimestamp(ruleset.created, UTC),
        LastModifiedOn=datetime.fromtimestamp(ruleset.modified, UTC),
    )


def _fits(ruleset: StoredRuleset, request: Request) -> bool:
    """Return whether a ruleset is one that ListDataQualityRulesets asks for."""
    criteria, tags = request.get("Filter") or {}, ruleset.tags or {}
    times = (
        ("CreatedBefore", ruleset.created, -1),
        ("CreatedAfter", ruleset.created, 1),
        ("LastModifiedBefore", ruleset.modified, -1),
        ("LastModifiedAfter", ruleset.modified, 1),
    )
    texts = (("Name", ruleset.name), ("Description", ruleset.description))
    target = criteria.get("TargetTable") or {}
    own = ruleset.target or {}
    checks = [criteria.get(name) in {None, value} for name, value in texts]
    checks += [criteria.get(name) is None or (value - criteria[name].timestamp()) * sign > 0 for name, value, sign in times]
    checks += [not target or own.get(name) == target.get(name) for name in _TARGET[:2]]
    checks += [tags.get(key) == value for key, value in (request.get("Tags") or {}).items()]
    return all(checks)


def _count(text: str) -> int:
    return len(parse(text).rules)


def _missing(name: str) -> NotFound:
    return NotFound(f"Data quality ruleset {name[:100]} was not found.", remedy="ListDataQualityRulesets shows them.")

"""Wires Iceberg's REST catalog API: accounts, lakes, authorization by Glue's actions, credentials for the lakes."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.access.audit.log import AuditSink
from penstock.access.authenticate import Authenticator
from penstock.access.bearer import BearerTokens
from penstock.access.principals import Caller
from penstock.access.sessions import Seal
from penstock.api.aws.authorization.policy_authorizer import PolicyAuthorizer
from penstock.api.aws.protocol.operations import RequestContext
from penstock.api.iceberg.app import AccessSource, Exchange, IcebergApp, IcebergServices
from penstock.api.iceberg.call import CatalogAccess, IcebergSettings
from penstock.api.limits import Limits
from penstock.api.observer import Observer
from penstock.api.vending import SessionVendor
from penstock.lake.locations import parse_uri
from penstock.server.lakes import Lakes
from penstock.server.wiring import Services
from penstock.settings.server import ServerSettings

__all__ = ["build_iceberg"]


class _Everything:
    """A :class:`~penstock.api.iceberg.call.CatalogAccess` of a server that authenticates nobody."""

    def check(self, _operation: str, _request: Mapping[str, Any], /) -> None:
        """Allow it."""

    def allows(self, _operation: str, _request: Mapping[str, Any], /) -> bool:
        """Return True."""
        return True

    def is_visible(self, _operation: str, _item: Mapping[str, Any], /) -> bool:
        """Return True."""
        return True

    def reading(self, _database: str, _table: str, _columns: Sequence[str], /) -> None:
        """Allow all columns and rows."""

    def check_writing(self, _database: str, _table: str, _permissions: Sequence[str], /) -> None:
        """Allow it."""

    def check_files(self, _action: str, _uris: Sequence[str], _table: tuple[str, str] | None = None, /) -> Sequence[str]:
        """Allow it."""
        return ["s3://"]


def build_iceberg(
    settings: ServerSettings,
    services: Services,
    *,
    authenticator: Authenticator,
    authorizer: PolicyAuthorizer,
    seal: Seal,
    observer: Observer,
    limits: Limits,
    audit: AuditSink,
) -> IcebergApp:
    """Return the application over the services of one process."""
    sessions = services.directory.sessions
    lakes = Lakes.under(settings)
    bucket = parse_uri(settings.results_location).bucket
    return IcebergApp(
        IcebergServices(
            tenants=services.tenants,
            lake_of=lakes.of,
            access=_access(settings, authorizer),
            settings=IcebergSettings(
                region=settings.region, warehouse=f"s3://{bucket}/warehouse", s3_endpoint_url=settings.s3_endpoint_url
            ),
            vendor=SessionVendor(sessions=sessions) if settings.authenticate else None,
        ),
        authenticator=authenticator if settings.authenticate else None,
        tokens=BearerTokens(seal=seal, sessions=sessions) if settings.authenticate else None,
        observer=observer,
        limits=limits,
        audit=audit,
        insecure=settings.insecure_basic_auth,
    )


def _access(settings: ServerSettings, authorizer: PolicyAuthorizer) -> AccessSource:
    def access(caller: Caller, account: str, exchange: Exchange, /) -> CatalogAccess:
        if not settings.authenticate:
            return _Everything()
        context = RequestContext(
            service="glue",
            operation=exchange.operation,
            account=account,
            region=settings.region,
            principal=caller.principal,
            request_id=exchange.request_id,
            client=exchange.client,
            caller=caller,
            secure=exchange.secure,
            user_agent=exchange.user_agent,
        )
        return authorizer.catalog_access(context, account)

    return access

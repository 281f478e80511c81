"""The configuration that clients read first: which catalog, under which prefix, with which routes.

As at Glue's own endpoint, a catalog is named by its account: ``warehouse=111122223333`` in the request for the
configuration, and the prefix ``catalogs/111122223333`` from then on; ``:`` is the catalog of the caller's own account.

Source: AWS Glue developer guide, "AWS Glue REST APIs for Apache Iceberg specifications"; Iceberg's REST catalog
specification, ``/v1/config``.
"""

from collections.abc import Sequence

from penstock.api.iceberg.call import Answer, Call
from penstock.api.iceberg.credentials import storage_defaults
from penstock.api.iceberg.routes import Route
from penstock.errors import InvalidInput

__all__ = ["account_of", "routes"]

_OWN = ":"


def account_of(catalog: str | None, own: str) -> str:
    """Return the account of a catalog's name, ``own`` for the caller's; raise :class:`InvalidInput` for other names."""
    if catalog in {None, "", _OWN}:
        return own
    assert catalog is not None
    account = catalog.removesuffix(_OWN)
    if len(account) == 12 and account.isascii() and account.isdigit():
        return account
    raise InvalidInput(
        f"The catalog '{catalog[:100]}' is not supported: nested and federated catalogs do not exist here.",
        remedy="Name it by its account, such as 111122223333, or leave the warehouse out.",
    )


def routes(served: Sequence[Route]) -> list[Route]:
    """Return the route of the configuration, which lists those of ``served``."""
    listed = sorted({route.advertised for route in served if "/{prefix}/" in route.path})

    def config(call: Call) -> Answer:
        account = account_of(call.parameter("warehouse"), call.caller.account)
        call.access.check("GetCatalog", {"CatalogId": account})
        return Answer(
            {
                "defaults": storage_defaults(call.settings),
                "overrides": {"prefix": f"catalogs/{account}"},
                "endpoints": listed,
            }
        )

    return [Route(method="GET", path="/v1/config", name="GetConfig", handler=config)]

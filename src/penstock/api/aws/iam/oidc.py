"""IAM's operations on OpenID Connect providers."""

from penstock.access.federation.oidc_providers import OidcProviders
from penstock.api.aws.iam.shapes import paged, tags_of, tags_shape
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, present

__all__ = ["oidc_handlers"]

_ARN = "OpenIDConnectProviderArn"


def oidc_handlers(providers: OidcProviders) -> dict[str, Handler]:
    """Return the handlers by operation name."""
    served = _Providers(providers)
    return {
        "CreateOpenIDConnectProvider": served.create,
        "GetOpenIDConnectProvider": served.get,
        "ListOpenIDConnectProviders": served.list,
        "UpdateOpenIDConnectProviderThumbprint": served.thumbprints,
        "AddClientIDToOpenIDConnectProvider": served.add_client,
        "RemoveClientIDFromOpenIDConnectProvider": served.remove_client,
        "DeleteOpenIDConnectProvider": served.delete,
        "TagOpenIDConnectProvider": served.tag,
        "UntagOpenIDConnectProvider": served.untag,
        "ListOpenIDConnectProviderTags": served.list_tags,
    }


class _Providers:
    def __init__(self, providers: OidcProviders) -> None:
        self._providers = providers

    def create(self, request: Request, context: RequestContext) -> Request:
        provider = self._providers.create(
            context.account,
            request["Url"],
            client_ids=request.get("ClientIDList", ()),
            thumbprints=request.get("ThumbprintList", ()),
            tags=tags_of(request),
        )
        return present(OpenIDConnectProviderArn=provider.arn, Tags=tags_shape(provider))

    def get(self, request: Request, context: RequestContext) -> Request:
        provider = self._providers.get(context.account, request[_ARN])
        # As in AWS, without the scheme of the URL in the request that created it.
        return {
            "Url": provider.name,
            "ClientIDList": list(provider.client_ids),
            "ThumbprintList": list(provider.thumbprints),
            "CreateDate": provider.created,
            "Tags": tags_shape(provider) or [],
        }

    def list(self, _request: Request, context: RequestContext) -> Request:
        return {
            "OpenIDConnectProviderList": [
                {"Arn": oidc_provider.arn} for oidc_provider in self._providers.list(context.account)
            ]
        }

    def thumbprints(self, request: Request, context: RequestContext) -> Request:
        self._providers.set_thumbprints(context.account, request[_ARN], request["ThumbprintList"])
        return {}

    def add_client(self, request: Request, context: RequestContext) -> Request:
        self._providers.add_client(context.account, request[_ARN], request["ClientID"])
        return {}

    def remove_client(self, request: Request, context: RequestContext) -> Request:
        self._providers.remove_client(context.account, request[_ARN], request["ClientID"])
        return {}

    def delete(self, request: Request, context: RequestContext) -> Request:
        self._providers.delete(context.account, request[_ARN])
        return {}

    def tag(self, request: Request, context: RequestContext) -> Request:
        self._providers.tag(context.account, request[_ARN], add=tags_of(request))
        return {}

    def untag(self, request: Request, context: RequestContext) -> Request:
        self._providers.tag(context.account, request[_ARN], remove=request["TagKeys"])
        return {}

    def list_tags(self, request: Request, context: RequestContext) -> Request:
        tags = tags_shape(self._providers.get(context.account, request[_ARN])) or []
        return paged(request, f"tags:{request[_ARN]}", "Tags", tags, key=lambda tag: tag["Key"], shape=dict)

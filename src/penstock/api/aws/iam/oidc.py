"""IAM's operations on OpenID Connect providers."""

from penstock.access.entities import OidcProvider
from penstock.access.federation.oidc_providers import OidcProviders
from penstock.api.aws.iam.shapes import tag_handlers, tags_of, tags_shape
from penstock.api.aws.protocol.handlers import account, call, member
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, Response, present

__all__ = ["oidc_handlers"]

_ARN = "OpenIDConnectProviderArn"


def oidc_handlers(providers: OidcProviders) -> dict[str, Handler]:
    """Return the handlers by operation name."""

    def list_all(_request: Request, context: RequestContext) -> Request:
        return {"OpenIDConnectProviderList": [{"Arn": provider.arn} for provider in providers.list(context.account)]}

    return {
        "CreateOpenIDConnectProvider": call(
            providers.create,
            account,
            "Url",
            client_ids=member("ClientIDList", default=()),
            thumbprints=member("ThumbprintList", default=()),
            tags=tags_of,
            answer=lambda provider: present(OpenIDConnectProviderArn=provider.arn, Tags=tags_shape(provider)),
        ),
        "GetOpenIDConnectProvider": call(providers.get, account, _ARN, answer=_shape),
        "ListOpenIDConnectProviders": list_all,
        "UpdateOpenIDConnectProviderThumbprint": call(providers.set_thumbprints, account, _ARN, "ThumbprintList"),
        "AddClientIDToOpenIDConnectProvider": call(providers.add_client, account, _ARN, "ClientID"),
        "RemoveClientIDFromOpenIDConnectProvider": call(providers.remove_client, account, _ARN, "ClientID"),
        "DeleteOpenIDConnectProvider": call(providers.delete, account, _ARN),
        **tag_handlers("OpenIDConnectProvider", _ARN, providers.tag, providers.get),
    }


def _shape(provider: OidcProvider) -> Response:
    # As in AWS, without the scheme of the URL in the request that created it.
    return {
        "Url": provider.name,
        "ClientIDList": list(provider.client_ids),
        "ThumbprintList": list(provider.thumbprints),
        "CreateDate": provider.created,
        "Tags": tags_shape(provider) or [],
    }

"""Opens AWS clients, and translates their exceptions into Penstock's.

A call has up to ``attempts`` attempts in botocore's standard mode (exponential backoff with jitter, also for throttling and
5xx). Errors name the endpoint and the seconds that the call took, retries included.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, NoRegionError, ParamValidationError

from penstock import __version__
from penstock.errors import (
    AccessDenied,
    AlreadyExists,
    ConcurrentModification,
    EnvironmentProblem,
    InvalidInput,
    LimitExceeded,
    NotFound,
    PenstockError,
)

if TYPE_CHECKING:
    from boto3.session import Session

__all__ = ["default_region", "error_code", "open_client", "translate_error", "translated_errors"]

_ATTEMPTS = 5
_CONNECT_SECONDS = 5
_READ_SECONDS = 30
_CONNECTIONS = 10

_CREDENTIALS = "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or a profile (for a local platform: penstock env)."
_REGION = "Pass a region, or set AWS_REGION (for a local platform: penstock env)."

_BY_CODE: dict[str, type[PenstockError]] = {
    "EntityNotFoundException": NotFound,
    "ResourceNotFoundException": NotFound,
    "AlreadyExistsException": AlreadyExists,
    "ResourceExistsException": AlreadyExists,
    "ConcurrentModificationException": ConcurrentModification,
    "VersionMismatchException": ConcurrentModification,
    "ResourceNumberLimitExceededException": LimitExceeded,
    "ThrottlingException": LimitExceeded,
    "Throttling": LimitExceeded,
    "TooManyRequestsException": LimitExceeded,
    "AccessDeniedException": AccessDenied,
    "AccessDenied": AccessDenied,
    "UnrecognizedClientException": AccessDenied,
    "InvalidClientTokenId": AccessDenied,
    "InvalidSignatureException": AccessDenied,
    "SignatureDoesNotMatch": AccessDenied,
    "IncompleteSignature": AccessDenied,
    "MissingAuthenticationToken": AccessDenied,
    "ExpiredTokenException": AccessDenied,
    "ExpiredToken": AccessDenied,
    "RequestExpired": AccessDenied,
}


def open_client(
    service: str,
    *,
    region: str | None = None,
    endpoint_url: str | None = None,
    session: "Session | None" = None,
    attempts: int = _ATTEMPTS,
    proxy_url: str | None = None,
    connections: int = _CONNECTIONS,
) -> Any:
    """Return a botocore client of ``service`` (``glue``, ``secretsmanager``), safe to share between threads.

    Region, credentials and, if ``endpoint_url`` is ``None``, the endpoint come from the usual places of any AWS client
    (AWS_REGION, AWS_ENDPOINT_URL, profiles). ``connections`` are those that it keeps open, for as many threads. Raises
    :class:`EnvironmentProblem` if no region is set.
    """
    config = Config(
        retries={"mode": "standard", "total_max_attempts": attempts},
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=_READ_SECONDS,
        user_agent_extra=f"penstock/{__version__}",
        max_pool_connections=connections,
        proxies={"http": proxy_url, "https": proxy_url} if proxy_url else None,
    )
    try:
        # A new session for each client: several threads may not build clients from boto3's default one.
        return (session or boto3.session.Session()).client(
            service,  # type: ignore[call-overload]
            region_name=region or default_region(),
            endpoint_url=endpoint_url,
            config=config,
        )
    except NoRegionError:
        raise EnvironmentProblem(
            f"No AWS region is set for {service}.",
            remedy=_REGION,
        ) from None
    except (BotoCoreError, ValueError) as error:
        raise EnvironmentProblem(
            f"The {service} client cannot be made for {endpoint_url or 'AWS'}: {str(error).rstrip('.')}.",
            remedy="Check the endpoint, the region and the profile.",
        ) from error


def default_region() -> str | None:
    """Return ``AWS_REGION``, which AWS's other SDKs and Penstock's commands read; None leaves it to botocore."""
    return os.environ.get("AWS_REGION") or None


@contextmanager
def translated_errors(client: Any, what: str) -> Iterator[None]:
    """Translate botocore's exceptions inside the block; ``what`` is what was requested, such as ``schema version 7c…``.

    Raises the :class:`PenstockError` of the service's error code, and :class:`EnvironmentProblem` without a usable answer,
    also if the answer lacks a member that the block reads (:class:`KeyError`).
    """
    started = time.monotonic()
    try:
        yield
    except ClientError as error:
        raise _refusal(client, what, error, time.monotonic() - started) from error
    except NoCredentialsError:
        raise EnvironmentProblem(
            f"Reading {what} from {_endpoint(client)}: no AWS credentials were found.",
            remedy=_CREDENTIALS,
        ) from None
    except ParamValidationError as error:
        raise InvalidInput(f"Asking for {what}: {' '.join(str(error).split())}.") from None
    except KeyError as error:
        # botocore returns an empty answer for a body that is not JSON.
        raise EnvironmentProblem(
            f"Asking for {what}: {_endpoint(client)} answered without {error}, which AWS's answers have.",
            remedy="Check that the endpoint is right; a proxy may have answered in its place.",
        ) from error
    except BotoCoreError as error:
        seconds = time.monotonic() - started
        raise EnvironmentProblem(
            f"Asking for {what}: {_endpoint(client)} gave no usable answer in {seconds:.1f} s of tries: {error}",
            remedy="Check that the server runs and that the endpoint is right.",
        ) from error


def error_code(error: BaseException) -> str:
    """Return the service's error code of an error of :func:`translated_errors`; empty if no service answered."""
    cause = error.__cause__
    return str(cause.response.get("Error", {}).get("Code", "")) if isinstance(cause, ClientError) else ""


def translate_error(error: Exception) -> PenstockError:
    """Return the error for an exception of botocore outside :func:`translated_errors`, where the client is unknown."""
    if isinstance(error, ClientError):
        details, answer = error.response.get("Error", {}), error.response.get("ResponseMetadata", {})
        code, status = details.get("Code", ""), int(answer.get("HTTPStatusCode", 0))
        return _by_code(code, details.get("Message", "") or code, f"(asked for {error.operation_name})", status)
    if isinstance(error, NoCredentialsError):
        return EnvironmentProblem("No AWS credentials were found.", remedy=_CREDENTIALS)
    if isinstance(error, NoRegionError):
        return EnvironmentProblem("No AWS region is set.", remedy=_REGION)
    if isinstance(error, ParamValidationError):
        return InvalidInput(f"{' '.join(str(error).split())}.")
    return EnvironmentProblem(
        f"No usable answer from AWS's services or the platform: {str(error).rstrip('.')}.",
        remedy="Check that the server runs ('penstock status') and that the endpoint is right.",
    )


def _endpoint(client: Any) -> str:
    return str(client.meta.endpoint_url)


def _refusal(client: Any, what: str, error: ClientError, seconds: float) -> PenstockError:
    code = error.response.get("Error", {}).get("Code", "")
    # AWS explains a signature that does not match over pages, for authors of signers.
    text = (error.response.get("Error", {}).get("Message", "") or code).partition("\n\n")[0]
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    return _by_code(code, text, f"(asked for {what} at {_endpoint(client)}, {seconds:.1f} s)", status)


def _by_code(code: str, text: str, where: str, status: int) -> PenstockError:
    if code in _BY_CODE:
        error_class = _BY_CODE[code]
        remedy = "Check the access key, its secret and its permissions." if error_class is AccessDenied else None
        return error_class(f"{text} {where}", remedy=remedy)
    if status >= 500:
        return EnvironmentProblem(f"{code} {text} {where}", remedy="The service failed; see its log and /readyz.")
    return InvalidInput(f"{code}: {text} {where}")

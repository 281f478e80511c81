"""S3's errors, each with its code and HTTP status.

Source: Amazon S3 API reference, "Error responses", list of error codes.
"""

from collections.abc import Mapping

from penstock.errors import PenstockError

__all__ = ["S3Error"]

_STATUS = {
    "AccessControlListNotSupported": 400,
    "AccessDenied": 403,
    "AuthorizationHeaderMalformed": 400,
    "AuthorizationQueryParametersError": 400,
    "BadDigest": 400,
    "BucketAlreadyOwnedByYou": 409,
    "BucketNotEmpty": 409,
    "EntityTooLarge": 400,
    "EntityTooSmall": 400,
    "ExpiredToken": 400,
    "IncompleteBody": 400,
    "InsufficientStorage": 507,
    "InternalError": 500,
    "InvalidAccessKeyId": 403,
    "InvalidArgument": 400,
    "InvalidBucketName": 400,
    "InvalidDigest": 400,
    "InvalidObjectState": 403,
    "InvalidPart": 400,
    "InvalidPartNumber": 416,
    "InvalidPartOrder": 400,
    "InvalidRange": 416,
    "InvalidRequest": 400,
    "InvalidStorageClass": 400,
    "InvalidTag": 400,
    "InvalidToken": 403,
    "InvalidURI": 400,
    "KeyTooLongError": 400,
    "MalformedPolicy": 400,
    "MalformedXML": 400,
    "MetadataTooLarge": 400,
    "MethodNotAllowed": 405,
    "MissingContentLength": 411,
    "NoSuchBucket": 404,
    "NoSuchBucketPolicy": 404,
    "NoSuchCORSConfiguration": 404,
    "NoSuchKey": 404,
    "NoSuchLifecycleConfiguration": 404,
    "NoSuchPublicAccessBlockConfiguration": 404,
    "NoSuchTagSet": 404,
    "NoSuchUpload": 404,
    "NoSuchWebsiteConfiguration": 404,
    "NotImplemented": 501,
    "NotModified": 304,
    "ObjectLockConfigurationNotFoundError": 404,
    "OwnershipControlsNotFoundError": 404,
    "PreconditionFailed": 412,
    "ReplicationConfigurationNotFoundError": 404,
    "RequestTimeTooSkewed": 403,
    "RequestTimeout": 400,
    "ServiceUnavailable": 503,
    "SignatureDoesNotMatch": 403,
    "SlowDown": 503,
    "TooManyUploads": 400,
    "XAmzContentSHA256Mismatch": 400,
}


class S3Error(PenstockError):
    """A request that is refused or fails. Clients match on ``code``; ``details`` are further elements of the error's
    XML.
    """

    def __init__(
        self, code: str, message: str, *, remedy: str | None = None, details: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.code = code
        self.details = details or {}

    @property
    def status(self) -> int:
        """The HTTP status of the code."""
        return _STATUS[self.code]

"""The settings of one server at start; only the CLI reads them, from the command line and the environment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from penstock.errors import InvalidInput
from penstock.names import DEFAULT_ACCOUNT, DEFAULT_REGION
from penstock.settings.jobs import JobsSettings
from penstock.settings.spark_sql import SparkSqlSettings
from penstock.settings.tls import TlsFiles

__all__ = ["DEFAULT_REQUESTS_PER_SECOND", "BootstrapKey", "ServerSettings"]

DEFAULT_REQUESTS_PER_SECOND = 2_000.0
"""Requests of one access key: a third of what one process answers when they are small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapKey:
    """An access key that the server stores when it starts, to sign the first request."""

    access_key_id: str
    secret_access_key: str = field(repr=False)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "BootstrapKey | None":
        """Return the key in PENSTOCK_BOOTSTRAP_ACCESS_KEY_ID and PENSTOCK_BOOTSTRAP_SECRET_ACCESS_KEY, or None."""
        key_id = environment.get("PENSTOCK_BOOTSTRAP_ACCESS_KEY_ID", "")
        secret = environment.get("PENSTOCK_BOOTSTRAP_SECRET_ACCESS_KEY", "")
        if not key_id and not secret:
            return None
        # IAM access key ids are 16 to 128 word characters.
        if not 16 <= len(key_id) <= 128 or not key_id.isalnum() or not key_id.isascii():
            raise InvalidInput(
                "PENSTOCK_BOOTSTRAP_ACCESS_KEY_ID is not an access key id.", remedy="Use 16 to 128 letters and digits."
            )
        if len(secret) < 16 or not secret.isprintable():
            raise InvalidInput(
                "PENSTOCK_BOOTSTRAP_SECRET_ACCESS_KEY is missing or too short.", remedy="Use 16 characters or more."
            )
        return cls(access_key_id=key_id, secret_access_key=secret)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """One server's configuration.

    ``store_url`` is an SQLAlchemy URL, ``lake`` the parent folder of the first account's buckets, ``account_lakes`` that of
    the other accounts' lakes (``111122223333/BUCKET/``), ``s3_endpoint_url`` the S3 endpoint that serves ``lake`` (None
    without one). ``port`` 0 takes a free one.
    """

    store_url: str
    lake: Path
    account_lakes: Path
    master_key_file: Path
    s3_endpoint_url: str | None = None
    results_location: str = "s3://lake/athena-results/"
    """Default location of SQL results."""
    region: str = DEFAULT_REGION
    account: str = DEFAULT_ACCOUNT
    host: str = "127.0.0.1"
    port: int = 8750
    tls: TlsFiles | None = None
    allowed_hosts: tuple[str, ...] = ()
    """Accepted host names beside the server's own; a leading dot accepts all names below."""
    insecure_plain_http: bool = False
    """Whether to listen without TLS on an address that is not loopback."""
    insecure_basic_auth: bool = False
    """Whether to accept Basic authentication on such a connection without TLS."""
    metrics_without_key: bool = False
    """Whether ``/metrics`` needs no authentication."""
    workers: int = 1
    drain_seconds: float = 0.0
    """For how long the server goes on after SIGTERM, in which it tells load balancers and clients to go elsewhere."""
    authenticate: bool = True
    crawl_hosts: tuple[str, ...] = ()
    """Hosts of databases, as HOST or HOST:PORT, that crawls may connect to."""
    crawl_dynamodb: bool = False
    """Whether the first account's crawls may read DynamoDB, with the server's own credentials of AWS."""
    access_log: bool = True
    minimum_free: int = 64_000_000
    """Free bytes that the disks of store and lake need for the server to be ready."""
    requests_per_second: float | None = None
    """Limit of one access key, at the APIs and, counted separately, at the S3 endpoint; None means none."""
    oidc_keys: Mapping[str, Path] = field(default_factory=dict)
    """Files of the public keys (JWKS) that verify web identity tokens, by issuer."""
    audit_folder: Path | None = None
    """Folder of the audit log; None writes none."""
    audit_reads: bool = True
    """Whether allowed reads are recorded, too."""
    audit_keep_days: int = 90
    audit_keep_bytes: int = 1024 * 1024 * 1024
    spark_sql: SparkSqlSettings | None = None
    """Spark for work groups that select it; None refuses their statements."""
    bootstrap_key: BootstrapKey | None = None
    url: str = ""
    """The server's own URL, for the jobs that it runs; known once it listens."""
    jobs: JobsSettings | None = None
    """How jobs are run; None runs none."""
    metrics_folder: Path | None = None
    """Folder in which worker processes share their counters; the parent sets it if there are several."""

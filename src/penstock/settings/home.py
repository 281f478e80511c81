"""The folder of a platform's state, and the configuration file in it.

Layout of ``PENSTOCK_HOME`` (default ``.penstock/``)::

    platform.json   ports, region, credentials; mode 0600
    master.key      key that encrypts secrets at rest; mode 0600
    store/          the server's SQLite database
    audit/          the audit log: files of JSON lines; mode 0700
    jobs/ACCOUNT/   the runs of jobs: a folder each, with its logs
    lake/BUCKET/    the lake: one folder a bucket
    lakes/ACCOUNT/  the lake of each further account, as lake/
    kafka/          the broker's log directory
    logs/ run/      logs and process ids of the child processes
    tls/            the certificate authority of this home and its certificates
"""

import json
import os
import secrets
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import get_origin

from penstock import durable
from penstock.durable import PRIVATE_UMASK
from penstock.errors import EnvironmentProblem, InvalidInput
from penstock.names import DEFAULT_ACCOUNT, DEFAULT_REGION
from penstock.settings.server import DEFAULT_REQUESTS_PER_SECOND

__all__ = ["Home", "PlatformConfig"]

_ROOT = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformConfig:
    """The listeners and users of one embedded platform. All addresses are loopback by default."""

    host: str = "127.0.0.1"
    server_port: int = 8750
    s3_port: int = 8751
    kafka_port: int = 8752
    controller_port: int = 8753
    region: str = DEFAULT_REGION
    account: str = DEFAULT_ACCOUNT
    access_key_id: str
    secret_access_key: str
    kafka_username: str = "penstock"
    kafka_password: str
    bucket: str = "lake"
    tls: bool = False
    tls_certificate: str = ""
    """PEM file of the listeners; if empty, the home's own authority issues the certificates."""
    tls_key: str = ""
    tls_authority: str = ""
    """PEM file of the authority that clients must trust: the home's own; empty if they trust it already."""
    mtls_port: int = 0
    """Port of the broker's listener that authenticates by client certificates; 0 is none."""
    mtls_authority: str = ""
    """PEM file of the authority of client certificates; empty is the home's own."""
    allowed_hosts: str = ""
    """Further host names of server and S3 endpoint, separated by commas."""
    insecure_plain_http: bool = False
    insecure_basic_auth: bool = False
    metrics_without_key: bool = False
    requests_per_second: float = DEFAULT_REQUESTS_PER_SECOND
    """Limit of one access key; 0 means none."""
    min_free_mb: int = 64
    """Free disk space that the server needs to be ready."""
    access_log: bool = True
    audit_log: bool = True
    audit_reads: bool = True
    audit_keep_days: int = 90
    audit_keep_mb: int = 1024
    jobs: bool = False
    """Whether the server runs Glue's jobs."""
    jobs_connect: str = ""
    """Further TCP ports that jobs may connect to, separated by commas."""
    jobs_without_sandbox: bool = False
    oidc_keys: dict[str, str] = field(default_factory=dict)
    """Files of the public keys (JWKS) that verify web identity tokens, by issuer."""

    @classmethod
    def generate(cls, **overrides: object) -> "PlatformConfig":
        """Return a configuration with new random credentials."""
        return cls(
            access_key_id="AKIA" + "".join(secrets.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") for _ in range(16)),
            secret_access_key=secrets.token_urlsafe(30),
            kafka_password=secrets.token_urlsafe(24),
            **overrides,  # type: ignore[arg-type]
        )

    def with_new_key(self) -> "PlatformConfig":
        """Return the same configuration with a new access key."""
        fresh = self.generate()
        return replace(self, access_key_id=fresh.access_key_id, secret_access_key=fresh.secret_access_key)

    @property
    def endpoint_url(self) -> str:
        """The server's URL."""
        return self._url(self.server_port)

    @property
    def s3_endpoint_url(self) -> str:
        """The S3 endpoint's URL."""
        return self._url(self.s3_port)

    def _url(self, port: int) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{port}"

    @property
    def allowed_host_names(self) -> tuple[str, ...]:
        """The further host names."""
        return tuple(filter(None, self.allowed_hosts.split(",")))

    @property
    def audit_arguments(self) -> tuple[str, ...]:
        """The options of ``penstock serve`` and ``serve-s3`` about their audit logs."""
        return (
            "--audit-log" if self.audit_log else "--no-audit-log",
            "--audit-reads" if self.audit_reads else "--no-audit-reads",
            f"--audit-keep-days={self.audit_keep_days}",
            f"--audit-keep-mb={self.audit_keep_mb}",
        )

    @property
    def rate_arguments(self) -> tuple[str, ...]:
        """The option of ``penstock serve`` and ``serve-s3`` about the rate of a key."""
        return (f"--requests-per-second={self.requests_per_second}",)

    @property
    def caller_arguments(self) -> tuple[str, ...]:
        """The options of ``penstock serve`` about callers and disk."""
        return (
            *self.rate_arguments,
            f"--min-free-mb={self.min_free_mb}",
            "--access-log" if self.access_log else "--no-access-log",
            *(f"--oidc-keys={issuer}={file}" for issuer, file in self.oidc_keys.items()),
        )

    @property
    def jobs_arguments(self) -> tuple[str, ...]:
        """The options of ``penstock serve`` about jobs, which may use the broker; none if it runs no jobs."""
        if not self.jobs:
            return ()
        ports = (self.kafka_port, self.mtls_port, *filter(None, self.jobs_connect.split(",")))
        unconfined = ("--jobs-without-sandbox",) if self.jobs_without_sandbox else ()
        return ("--jobs", *(f"--jobs-connect={port}" for port in ports if port), *unconfined)

    @property
    def brokers(self) -> str:
        """Bootstrap servers of the SASL/SCRAM listener."""
        return f"[{self.host}]:{self.kafka_port}" if ":" in self.host else f"{self.host}:{self.kafka_port}"

    @property
    def secret_name(self) -> str:
        """Name of the broker credentials in Secrets Manager; MSK requires the prefix AmazonMSK_."""
        return "AmazonMSK_penstock"

    def client_environment(self) -> dict[str, str]:
        """Return the environment variables that connect clients of AWS and of Confluent's registry to this platform."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint_url,
            "AWS_ENDPOINT_URL_S3": self.s3_endpoint_url,
            "AWS_ACCESS_KEY_ID": self.access_key_id,
            "AWS_SECRET_ACCESS_KEY": self.secret_access_key,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            # Confluent's tools read these; server and credentials are the same.
            "SCHEMA_REGISTRY_URL": self.endpoint_url,
            "SCHEMA_REGISTRY_BASIC_AUTH_USER_INFO": f"{self.access_key_id}:{self.secret_access_key}",
            "PENSTOCK_BROKERS": self.brokers,
            "PENSTOCK_SECRET_ID": self.secret_name,
            "PENSTOCK_BUCKET": self.bucket,
            **self._tls_environment(),
        }

    def _tls_environment(self) -> dict[str, str]:
        """Return the broker's protocol, and the authorities to trust; boto3 and the AWS CLI read the last one."""
        if not self.tls:
            return {}
        trust = {"PENSTOCK_CA_FILE": self.tls_authority, "AWS_CA_BUNDLE": self.tls_authority} if self.tls_authority else {}
        return {"PENSTOCK_SECURITY_PROTOCOL": "SASL_SSL", **trust}


@dataclass(frozen=True, slots=True)
class Home:
    """The paths of one PENSTOCK_HOME."""

    root: Path

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Home":
        """Return the home that PENSTOCK_HOME names, or ``.penstock`` in the working directory."""
        return cls(Path(environment.get("PENSTOCK_HOME") or ".penstock").absolute())

    @classmethod
    def at(cls, folder: Path | None, environment: Mapping[str, str]) -> "Home":
        """Return the home in ``folder``, or for None the one that the environment names.

        Raises :class:`EnvironmentProblem` if it or a part of it belongs to another user, who could have put keys,
        passwords, ports and a store there (in ``/tmp`` every user can make a ``.penstock``), or if it is a folder that all
        users share, such as ``/tmp`` itself, whose mode must not change.
        """
        home = cls(folder.absolute()) if folder is not None else cls.from_environment(environment)
        for path in (home.root, home.config_file, home.master_key_file, home.root / "store", home.run):
            _check_owner(path)
        return home

    @property
    def config_file(self) -> Path:
        """The file of ports and credentials."""
        return self.root / "platform.json"

    @property
    def master_key_file(self) -> Path:
        """The file of the key that encrypts secrets at rest."""
        return self.root / "master.key"

    @property
    def store_url(self) -> str:
        """SQLAlchemy URL of the server's database."""
        return f"sqlite:///{self.root / 'store' / 'penstock.db'}"

    @property
    def audit(self) -> Path:
        """The folder of the audit log's files."""
        return self.root / "audit"

    @property
    def jobs(self) -> Path:
        """The folder of the runs of jobs."""
        return self.root / "jobs"

    @property
    def lake(self) -> Path:
        """The parent folder of the buckets."""
        return self.root / "lake"

    @property
    def account_lakes(self) -> Path:
        """The parent folder of the further accounts' lakes."""
        return self.root / "lakes"

    @property
    def kafka(self) -> Path:
        """The folder of the broker."""
        return self.root / "kafka"

    @property
    def tls(self) -> Path:
        """The folder of the home's certificate authority and its certificates."""
        return self.root / "tls"

    @property
    def logs(self) -> Path:
        """The folder of the child processes' logs."""
        return self.root / "logs"

    @property
    def run(self) -> Path:
        """The folder of process ids and locks."""
        return self.root / "run"

    def load(self) -> PlatformConfig:
        """Return the stored configuration. Raises :class:`InvalidInput` if it is missing or cannot be read."""
        try:
            raw = json.loads(self.config_file.read_text())
            names = {field.name for field in fields(PlatformConfig)}
            config = PlatformConfig(**{key: value for key, value in raw.items() if key in names})
            _check_types(config)
            return config
        except FileNotFoundError:
            raise InvalidInput(
                f"There is no platform in {self.root}.", remedy="Start one with 'penstock up', or set PENSTOCK_HOME."
            ) from None
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise InvalidInput(
                f"{self.config_file} cannot be read: {error}.",
                remedy="Restore it: it has the passwords of the broker's data and of the clients.",
            ) from error

    def make_private(self) -> None:
        """Remove other users' permissions on the home and its parts, which earlier releases did not restrict.

        A folder without such permissions is skipped with all its contents, so that the walk does not slow down the next
        start of a large lake. Folders that may be closed while their files are not are always walked: they are small.
        """
        for part in (self.root / "store", self.logs, self.run, self.kafka):
            _make_private(part, closed_too=True)
        accounts = _folders_in(self.account_lakes)
        buckets = [bucket for lake in (self.lake, *accounts) for bucket in _folders_in(lake)]
        for path in (*buckets, *accounts, *_folders_in(self.root), *_files_in(self.root), self.root):
            _make_private(path)

    def save(self, config: PlatformConfig) -> None:
        """Write the configuration atomically and synced, readable only by its owner."""
        durable.make_folder(self.root, mode=0o700)
        with durable.writing(self.config_file) as file:
            file.write(json.dumps(asdict(config), indent=2).encode() + b"\n")


def _check_owner(path: Path) -> None:
    try:
        status = path.stat()
    except OSError:
        # This user creates missing parts; an unreadable part is an error where it is used.
        return
    if status.st_uid not in {os.getuid(), _ROOT}:
        raise EnvironmentProblem(
            f"{path} belongs to another user (uid {status.st_uid}), who can change the files that Penstock reads.",
            remedy="Choose another --home, run the command as that user, or change the owner with chown.",
        )
    if status.st_mode & stat.S_ISVTX:
        raise EnvironmentProblem(
            f"{path} is a folder that all users of the machine share.", remedy="Choose a folder in it as --home."
        )


def _folders_in(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
    except OSError:
        return []


def _files_in(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.is_file() and not path.is_symlink()]
    except OSError:
        return []


def _make_private(path: Path, *, closed_too: bool = False) -> None:
    """Remove other users' permissions on a file, or a folder and its contents; skip links and other users' files."""
    try:
        status = path.lstat()
        folder = stat.S_ISDIR(status.st_mode)
        if status.st_uid != os.getuid() or not (folder or stat.S_ISREG(status.st_mode)):
            return
        if folder and (closed_too or stat.S_IMODE(status.st_mode) & PRIVATE_UMASK):
            for entry in path.iterdir():
                _make_private(entry, closed_too=closed_too)
        # The folder's own mode is changed last: it shows that its contents are done.
        if stat.S_IMODE(status.st_mode) & PRIVATE_UMASK:
            path.chmod(stat.S_IMODE(status.st_mode) & ~PRIVATE_UMASK)
    except OSError:
        # Deleted meanwhile, or on a file system without modes.
        return


_KINDS: dict[object, str] = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    dict: "an object",
}


def _check_types(config: PlatformConfig) -> None:
    for member in fields(config):
        value = getattr(config, member.name)
        field_type = get_origin(member.type) or member.type
        if type(value) is not field_type and not (field_type is float and type(value) is int):
            raise TypeError(f"{member.name} is {value!r} and must be {_KINDS[field_type]}")
        if member.name.endswith("_port") and not (0 < value < 65536 or value == member.default):
            raise ValueError(f"{member.name} is {value}, which is not a port")
        if field_type in {int, float} and value < 0:
            raise ValueError(f"{member.name} is {value}, which is below 0")
    if not all(type(file) is str for file in config.oidc_keys.values()):
        raise TypeError("oidc_keys must name a file for each issuer")

"""What runs of jobs may reach on this machine, from the server's settings; and what keeps a server from running any."""

import os
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from sqlalchemy import make_url

from penstock.catalog.connections import ConnectionService
from penstock.errors import InvalidInput, NotFound
from penstock.jobs.model import JobRun
from penstock.lake.locations import LakeFolder
from penstock.runs.isolation import Isolation
from penstock.settings.jobs import JobsSettings
from penstock.settings.server import ServerSettings

__all__ = ["JobPlatform", "check_jobs", "isolation_of", "ports_in"]

_POSTGRESQL = 5432
# The ports that clients take where an address names none.
_DEFAULT_PORTS = {"postgresql": 5432, "redshift": 5439, "mysql": 3306, "sqlserver": 1433, "oracle": 1521, "mongodb": 27017}
_SCHEME = re.compile(r"(?:jdbc:)?([a-z]+)", re.IGNORECASE)
_PORT = re.compile(r":(\d{1,5})(?![\d.:])")
_ADDRESSES = ("JDBC_CONNECTION_URL", "CONNECTION_URL", "KAFKA_BOOTSTRAP_SERVERS")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlatform:
    """What the jobs of one account run beside: its lake, and those whose runs are on the same machine.

    ``connections`` are the account's, whose ports runs that name them may use; ``accounts`` returns the number of accounts.
    """

    account: str
    lake: LakeFolder
    connections: ConnectionService
    accounts: Callable[[], int]


def check_jobs(settings: ServerSettings) -> None:
    """Raise :class:`InvalidInput` if runs would get the lake's folder without the operator's consent.

    Raises :class:`EnvironmentProblem` if they could read what is private.
    """
    jobs = settings.jobs
    if jobs is None:
        return
    if settings.s3_endpoint_url is None and not jobs.lake_folder:
        raise InvalidInput(
            "Jobs need an S3 endpoint: by the lake's folder a run would read and write all of it, whatever its role may do.",
            remedy="Start one with 'penstock serve-s3' and name it with --s3-endpoint-url; or, with one account, give runs "
            "the folder: --jobs-lake-folder.",
        )
    _isolation(settings, jobs, settings.account).begin(os.environ)


def isolation_of(settings: ServerSettings, jobs: JobsSettings, platform: JobPlatform) -> Isolation:
    """Return how the runs of an account are kept apart."""

    def ports_of(run: JobRun) -> Collection[int]:
        names = (run.settings.get("Connections") or {}).get("Connections") or ()
        return {port for name in names for port in _ports_of_connection(platform, name)}

    writable = (platform.lake.root,) if jobs.lake_folder and settings.s3_endpoint_url is None else ()
    return _isolation(settings, jobs, platform.account, writable=writable, ports_of=ports_of, accounts=platform.accounts)


def _isolation(settings: ServerSettings, jobs: JobsSettings, account: str, **further: object) -> Isolation:
    store = make_url(settings.store_url)
    closed = () if store.get_backend_name() == "sqlite" else (store.port or _POSTGRESQL,)
    writable = further.get("writable") or ()
    private = [path for path in jobs.private if not (jobs.lake_folder and path == settings.lake)]
    assert isinstance(writable, tuple)
    return Isolation(
        account=account,
        connect=jobs.connect,
        closed=tuple(port for port in closed if port not in jobs.connect),
        readable=(*jobs.readable, *(() if jobs.cache is None else (jobs.cache,))),
        private=tuple(private),
        user=jobs.users.get(account),
        own_users=jobs.own_users,
        scratch=jobs.scratch,
        without_sandbox=jobs.without_sandbox,
        alone=jobs.lake_folder and settings.s3_endpoint_url is None,
        **further,  # type: ignore[arg-type]
    )


def _ports_of_connection(platform: JobPlatform, name: str) -> set[int]:
    try:
        return ports_in(platform.connections.get(name).properties)
    except NotFound:
        return set()


def ports_in(properties: Mapping[str, str]) -> set[int]:
    """Return the ports that the addresses of a connection of Glue name, or that their schemes have."""
    ports: set[int] = set()
    for name in _ADDRESSES:
        address = properties.get(name, "")
        in_address = {int(port) for port in _PORT.findall(address) if int(port) < 1 << 16}
        scheme = _SCHEME.match(address)
        default = _DEFAULT_PORTS.get(scheme[1].lower()) if scheme is not None else None
        ports |= in_address or ({default} if default is not None else set())
    return ports

"""Builds the services from the settings: the only module that imports every implementation."""

import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from penstock.access.audit.log import AuditSink, NullAuditSink
from penstock.access.federation.oidc_keys import IssuerKeys
from penstock.access.sessions import Sessions
from penstock.access.sts import TokenService
from penstock.api.access_checker import AccessChecker
from penstock.api.aws import cloudtrail, tagging
from penstock.api.aws.athena import operations as athena
from penstock.api.aws.authorization.policy_authorizer import PolicyAuthorizer
from penstock.api.aws.catalog import classifiers, connections, crawlers, data_quality
from penstock.api.aws.catalog import operations as catalog
from penstock.api.aws.catalog.changes import CatalogOperations
from penstock.api.aws.catalog.data_quality import DataQualityRulesets
from penstock.api.aws.catalog.tags import NamedTags, Tagged
from penstock.api.aws.lakeformation import operations as lakeformation
from penstock.api.aws.lakeformation.creators import GovernedCatalog, table_defaults, with_lake_formation
from penstock.api.aws.log_groups import with_log_groups
from penstock.api.aws.protocol.endpoints import EndpointTable
from penstock.api.aws.protocol.operations import OperationSet
from penstock.api.aws.registry import operations as registry
from penstock.api.aws.secrets import operations as secretsmanager
from penstock.api.vending import SessionVendor
from penstock.catalog.connections import ConnectionService
from penstock.catalog.model import Column, SchemaReference
from penstock.catalog.service import CatalogService
from penstock.catalog.tables import ColumnSource
from penstock.crawl.access import AccessOf
from penstock.crawl.classifiers.service import ClassifierService
from penstock.crawl.service import CrawlService
from penstock.crawl.targets.dynamodb import dynamodb_client
from penstock.crawl.targets.sources import Sources, login_of
from penstock.lake.iceberg.files import MetadataFiles
from penstock.lake.locations import LakeFolder
from penstock.lake.objects.errors import S3Error
from penstock.lake.objects.policies import BucketSettings
from penstock.lakeformation.service import LakeFormation
from penstock.query.execution.children import ChildPool
from penstock.query.ports import ResultSink
from penstock.query.results.sinks import LakeSink, S3Sink
from penstock.query.service import QueryService
from penstock.query.settings import QuerySettings
from penstock.registry.service import RegistryService
from penstock.secrets.service import SecretsService
from penstock.server.attendant import Attendant
from penstock.server.directory import Directory, connect_store
from penstock.server.isolation import JobPlatform, check_jobs
from penstock.server.jobs import TenantJobs, role_of_glue
from penstock.server.lakes import Lakes
from penstock.server.readiness import Readiness
from penstock.server.tenants import ServedTenant, ServedTenants
from penstock.settings.server import ServerSettings
from penstock.spark.sql.engine import SparkSql
from penstock.sql.errors import StatementError
from penstock.store.sql.access import SqlAccessStore
from penstock.store.sql.attention import WorkFinder
from penstock.store.sql.catalog.connections import SqlConnectionStore
from penstock.store.sql.catalog.crawl import SqlCrawlStore
from penstock.store.sql.catalog.store import SqlCatalogStore
from penstock.store.sql.database import Database
from penstock.store.sql.jobs import SqlJobStore
from penstock.store.sql.lakeformation import SqlLakeFormationStore
from penstock.store.sql.migrate import migrate
from penstock.store.sql.registry.store import SqlRegistryStore
from penstock.store.sql.resources import SqlResourceStore
from penstock.store.sql.rotation import sealer_of
from penstock.store.sql.sealing import Sealer
from penstock.store.sql.secrets import SqlSecretStore
from penstock.store.sql.statements import SqlStatementStore
from penstock.store.sql.tenancy import of_account

__all__ = ["Services", "offline_coverage", "prepare", "wire"]

_log = logging.getLogger("penstock.server")


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The services of one process. ``operations`` are the first account's, with those that all accounts share."""

    database: Database
    directory: Directory
    tenants: ServedTenants
    attendant: Attendant
    operations: Sequence[OperationSet]
    readiness: Readiness
    children: ChildPool
    """Runs the statements of all accounts; a process of it serves only one account."""
    seal: Sealer
    access_checker: AccessChecker
    authorizer: PolicyAuthorizer

    @property
    def schemas(self) -> RegistryService:
        """The registry of the first account."""
        return self.tenants.first.schemas

    def begin(self) -> None:
        """Do the accounts' work in the background from now on. An account's services start when it has something to do."""
        self.tenants.begin()
        self.attendant.begin()

    def close(self) -> None:
        """Stop running work, and close the stores."""
        self.attendant.close()
        self.tenants.close()
        self.children.close()
        self.database.close()


def wire(settings: ServerSettings, audit: AuditSink) -> Services:
    """Return the services over the settings' store, which has been prepared; ``audit`` is the process's audit log."""
    database = connect_store(settings.store_url)
    return _assemble(settings, database, sealer_of(settings.master_key_file, database), audit)


def prepare(settings: ServerSettings) -> None:
    """Migrate the first account's store, and store the bootstrap key; once per start, before any worker.

    Each other account's store is migrated when its services start.

    Raises :class:`EnvironmentProblem` if the store, a lake or the master key cannot be used.
    """
    lakes = Lakes.under(settings)
    lakes.check_apart()
    IssuerKeys(settings.oidc_keys).check()
    lakes.make(settings.account)
    check_jobs(settings)
    services = wire(settings, NullAuditSink())  # crawls are not begun, and nothing is served
    try:
        migrate(services.database)
        for risk in services.database.risks():
            _log.warning("%s on the store's PostgreSQL: a power loss there can lose or damage acknowledged data.", risk)
        if not services.directory.bootstrap(settings.account, settings.bootstrap_key):
            assert settings.bootstrap_key is not None
            _log.warning(
                "The access key %s was deactivated or deleted. Start with another one, or let another "
                "administrator activate it (aws iam update-access-key --status Active).",
                settings.bootstrap_key.access_key_id,
            )
    finally:
        services.close()


def offline_coverage() -> dict[str, dict[str, bool]]:
    """Return every operation of AWS, by service, and whether it is served. Needs no store."""
    nowhere = Path(os.devnull)
    settings = ServerSettings(store_url="sqlite://", lake=nowhere, account_lakes=nowhere, master_key_file=nowhere)
    services = _assemble(settings, Database(settings.store_url), Sealer(bytes(32)), NullAuditSink())
    try:
        return EndpointTable(services.operations).coverage()
    finally:
        services.close()


def _assemble(settings: ServerSettings, database: Database, sealer: Sealer, audit: AuditSink) -> Services:
    lakes = Lakes.under(settings)
    directory = Directory.over(
        SqlAccessStore(database, sealer),
        sealer,
        account=settings.account,
        make_lake=lakes.make,
        oidc_keys=settings.oidc_keys,
    )
    tenants = ServedTenants(lambda account: directory.accounts.find(account) is not None)
    access_checker = AccessChecker(directory.authorizer, region=settings.region, bucket_policy=lakes.bucket_policy)
    authorizer = PolicyAuthorizer(
        access_checker,
        tenants,
        directory.store,
        region=settings.region,
        first=settings.account,
        audit=audit,
        role_of_glue=partial(role_of_glue, directory.tokens, settings.region),
    )
    parts = _Parts(
        settings=settings,
        lakes=lakes,
        sealer=sealer,
        children=ChildPool(),
        tokens=directory.tokens,
        crawl_access=authorizer.crawl_access,
        accounts=lambda: len(directory.accounts.list()),
    )

    def start(account: str) -> ServedTenant:
        lakes.make(account)
        own = of_account(database, account)
        migrate(own)
        tenant = _tenant(parts, account, own)
        return replace(tenant, close=_in_order(tenant.close, own.close))

    tenants.open(_tenant(parts, settings.account, database), start)
    return Services(
        database=database,
        directory=directory,
        tenants=tenants,
        attendant=Attendant(_finder(settings, directory, database), tenants.attend),
        operations=(*tenants.first.operations, *directory.operations),
        readiness=Readiness(database, _folders(settings, database), minimum_free=settings.minimum_free),
        children=parts.children,
        seal=sealer,
        access_checker=access_checker,
        authorizer=authorizer,
    )


def _finder(settings: ServerSettings, directory: Directory, database: Database) -> Callable[[], Sequence[str]]:
    """Return a function that finds the accounts with work, at first also those whose runs have left folders here."""
    folders = None if settings.jobs is None else settings.jobs.folder
    finder = WorkFinder(database, settings.account)
    looked = False

    def find() -> Sequence[str]:
        nonlocal looked
        others = [account.id for account in directory.accounts.list() if account.id != settings.account]
        left = [account for account in others if not looked and folders is not None and (folders / account).is_dir()]
        looked = True
        return list(dict.fromkeys([*finder.find(others, now=datetime.now(UTC)), *left]))

    return find


def _folders(settings: ServerSettings, database: Database) -> Mapping[str, Path]:
    """Return the folders of this machine that are written to, by their contents."""
    file = database.url.database if database.is_sqlite else None
    store = {} if file in {None, "", ":memory:"} else {"store": Path(str(file)).parent}
    return {**store, "lake": settings.lake}


def _in_order(*calls: Callable[[], object]) -> Callable[[], None]:
    def call() -> None:
        for call in calls:
            call()

    return call


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """What the tenants of a process are made of."""

    settings: ServerSettings
    lakes: Lakes
    sealer: Sealer
    children: ChildPool
    tokens: TokenService
    crawl_access: AccessOf
    accounts: Callable[[], int]


def _tenant(parts: _Parts, account: str, database: Database) -> ServedTenant:
    settings, lake = parts.settings, parts.lakes.of(account)
    schemas = RegistryService(SqlRegistryStore(database), region=settings.region, account=account)
    tables = CatalogService(SqlCatalogStore(database), columns_of=_columns_of(schemas))
    lake_formation = LakeFormation(
        SqlLakeFormationStore(database), account=account, table_defaults=partial(table_defaults, tables)
    )
    wrap = partial(with_lake_formation, lake=lake_formation)
    resources = SqlResourceStore(database)
    classifier_service = ClassifierService(resources)
    connection_service = ConnectionService(SqlConnectionStore(database, parts.sealer))
    secrets = SecretsService(SqlSecretStore(database, parts.sealer), region=settings.region)
    crawls = CrawlService(
        SqlCrawlStore(database),
        GovernedCatalog(SqlCatalogStore(database), lake_formation, columns_of=_columns_of(schemas)),
        lake,
        classifiers=classifier_service,
        sources=_sources(settings, account, connection_service, secrets),
        account=account,
        access=parts.crawl_access,
    )
    cluster = _spark_sql(settings, account, lake)
    statements = QueryService(
        store=SqlStatementStore(database),
        catalog=tables,
        changes=CatalogOperations(tables, account=account, region=settings.region, wrap=wrap),
        lake=lake,
        settings=QuerySettings(account=account, output_location=settings.results_location, region=settings.region),
        sink=_sink(settings, account, lake),
        children=parts.children,
        resources=resources,
        cluster=cluster,
    )
    platform = JobPlatform(account=account, lake=lake, connections=connection_service, accounts=parts.accounts)
    jobs = TenantJobs.of(SqlJobStore(database), settings, platform, tokens=parts.tokens, crawls=crawls)
    rulesets = DataQualityRulesets(resources, tables)
    tagged: Mapping[str, Tagged] = {
        "dataQualityRuleset": rulesets,
        "database": tables,
        "connection": connection_service,
        "crawler": crawls,
        **jobs.tagged,
    }
    owners = tuple(
        NamedTags(resource_type, tags, region=settings.region, account=account) for resource_type, tags in tagged.items()
    )
    operations = (
        registry.operations(schemas, tag_owners=owners),
        cloudtrail.operations(schemas.audit),
        wrap(catalog.operations(tables, MetadataFiles(lake))),
        lakeformation.operations(lake_formation, tables, SessionVendor(sessions=Sessions(parts.sealer))),
        connections.operations(connection_service),
        crawlers.operations(crawls),
        classifiers.operations(classifier_service),
        data_quality.operations(rulesets),
        athena.operations(statements, tables),
        secretsmanager.operations(secrets),
        *(
            with_log_groups(operation, resources) if operation.service == "logs" else operation
            for operation in jobs.operations
        ),
    )
    operations = (*operations, tagging.operations(operations, partial(_tagged_buckets, lake)))
    return ServedTenant(
        account=account,
        schemas=schemas,
        secrets=secrets,
        tables=tables,
        crawls=crawls,
        lake_formation=lake_formation,
        work_group_of=statements.work_group_of,
        # A database server may be slow, which must not block the event loop.
        operations=operations
        if database.is_sqlite
        else tuple(replace(operation, inline=frozenset()) for operation in operations),
        jobs=jobs,
        recover=_in_order(crawls.recover, statements.recover),
        begin=_in_order(crawls.begin, jobs.begin),
        wake=_in_order(crawls.wake, jobs.wake),
        close=_in_order(jobs.close, statements.close, *([cluster.close] if cluster is not None else []), crawls.close),
    )


def _tagged_buckets(lake: LakeFolder) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the buckets of a lake that have tags, with them."""
    settings = BucketSettings(lake.root)
    for folder in sorted(lake.root.iterdir()) if lake.root.is_dir() else ():
        with suppress(S3Error):  # not a bucket's name
            text = settings.get(folder.name, "tagging")
            if text is not None:
                yield folder.name, {tag["Key"]: tag["Value"] for tag in json.loads(text)["TagSet"]}


def _sources(settings: ServerSettings, account: str, connections: ConnectionService, secrets: SecretsService) -> Sources:
    """Return what crawls of the account may read beside its lake."""
    with_dynamodb = settings.crawl_dynamodb and account == settings.account
    return Sources(
        connections=connections,
        secret_of=partial(login_of, secrets, account),
        hosts=settings.crawl_hosts,
        dynamodb=partial(dynamodb_client, settings.region) if with_dynamodb else None,
    )


def _spark_sql(settings: ServerSettings, account: str, lake: LakeFolder) -> SparkSql | None:
    """Return the engine of work groups that select Spark SQL, whose process starts with their first statement."""
    if settings.spark_sql is None:
        return None
    return SparkSql(settings.spark_sql, lake.root, name=account, error=StatementError)


def _columns_of(schemas: RegistryService) -> ColumnSource:
    """Return the function by which the catalog reads the columns of a referenced schema."""

    def columns_of(reference: SchemaReference, /) -> Sequence[Column]:
        columns = schemas.columns_of(reference)
        return [Column(name=column.name, type=column.type, comment=column.comment) for column in columns]

    return columns_of


def _sink(settings: ServerSettings, account: str, lake: LakeFolder) -> ResultSink:
    """Return the sink of the account's results: the S3 endpoint for the first account, else its own lake."""
    key = settings.bootstrap_key
    if account != settings.account or settings.s3_endpoint_url is None or key is None:
        return LakeSink(lake)
    return S3Sink.connect(
        settings.s3_endpoint_url,
        region=settings.region,
        access_key_id=key.access_key_id,
        secret_access_key=key.secret_access_key,
    )

"""What is checked of a crawler before it is stored, by its settings alone."""

from penstock.crawl.configuration import Configuration
from penstock.crawl.globs import exclusion
from penstock.crawl.model import CatalogTarget, Crawler, DynamoTarget, JdbcTarget, OtherTarget
from penstock.crawl.targets.lake_tables import folder_uri
from penstock.cron import parse_cron
from penstock.errors import InvalidInput
from penstock.lake.locations import parse_uri

__all__ = ["check_settings"]

_MAX_SAMPLE = 249  # Glue's bound, as its API reference has it


def check_settings(crawler: Crawler) -> None:
    """Raise :class:`InvalidInput` for settings that cannot be used."""
    Configuration.parse(crawler.configuration)
    if crawler.schedule:
        parse_cron(crawler.schedule)
    if crawler.recrawl not in {"CRAWL_EVERYTHING", "CRAWL_NEW_FOLDERS_ONLY"}:
        raise InvalidInput(
            f"RecrawlBehavior {crawler.recrawl} is not served: there are no S3 events.",
            remedy="CRAWL_EVERYTHING reads only files that are new or changed; CRAWL_NEW_FOLDERS_ONLY reads new folders.",
        )
    if crawler.recrawl != "CRAWL_EVERYTHING" and (crawler.policy.update, crawler.policy.delete) != ("LOG", "LOG"):
        raise InvalidInput(
            f"Crawler {crawler.name} crawls new folders only, and its SchemaChangePolicy changes what is in the others.",
            remedy="Set UpdateBehavior and DeleteBehavior to LOG.",
        )
    if not crawler.targets and not crawler.others:
        raise InvalidInput(f"Crawler {crawler.name} has no target.", remedy="Give at least one path in Targets.S3Targets.")
    _check_others(crawler)
    for target in crawler.targets:
        parse_uri(target.path)
        exclusion(target.exclusions)
        if target.sample_size is not None and not 1 <= target.sample_size <= _MAX_SAMPLE:
            raise InvalidInput(f"SampleSize {target.sample_size} is not from 1 to {_MAX_SAMPLE}.")


def _check_others(crawler: Crawler) -> None:
    """Check targets as far as that is possible without reading them."""
    catalog = [target for target in crawler.others if isinstance(target, CatalogTarget)]
    if catalog and (crawler.targets or len(catalog) < len(crawler.others)):
        raise InvalidInput("CatalogTargets cannot be crawled together with other targets.", remedy="Create two crawlers.")
    if catalog and crawler.policy.delete != "LOG":
        raise InvalidInput("CatalogTargets need the DeleteBehavior LOG.", remedy="Set it in SchemaChangePolicy.")
    if crawler.others and crawler.recrawl != "CRAWL_EVERYTHING":
        raise InvalidInput(f"RecrawlBehavior {crawler.recrawl} is for S3 targets alone.", remedy="Use CRAWL_EVERYTHING.")
    for target in crawler.others:
        _check_other(target)


def _check_other(target: OtherTarget) -> None:
    match target:
        case CatalogTarget():
            if not target.tables:
                raise InvalidInput("A catalog target has no Tables.", remedy="Name the tables to crawl.")
        case JdbcTarget():
            exclusion(target.exclusions)
        case DynamoTarget():
            if not target.table:
                raise InvalidInput("A DynamoDB target has no Path.", remedy="Give the table's name.")
        case _:
            if not target.paths:
                raise InvalidInput(f"A target of {target.kind} has no path.", remedy="Give s3://BUCKET/FOLDER/.")
            for path in target.paths:
                folder_uri(path)

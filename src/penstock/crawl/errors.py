"""The crawlers' errors, with the codes that Glue gives them."""

from penstock.errors import AlreadyExists, InvalidInput, LimitExceeded, NotFound

__all__ = ["CrawlerExists", "CrawlerNotFound", "CrawlerNotRunning", "CrawlerRunning", "CrawlerStopping", "TooManyCrawls"]


class CrawlerNotFound(NotFound):
    """No crawler has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Crawler with name {name} does not exist.", remedy="ListCrawlers lists the existing ones.")


class CrawlerExists(AlreadyExists):
    """The crawler's name is taken."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Crawler with name {name} already exists.")


class CrawlerRunning(InvalidInput):
    """The request needs a crawler that is not running, and it is running."""

    aws_code = "CrawlerRunningException"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Crawler with name {name} has already started.", remedy="Wait until GetCrawler shows READY, or stop it."
        )


class CrawlerNotRunning(InvalidInput):
    """The crawler has no run to stop."""

    aws_code = "CrawlerNotRunningException"

    def __init__(self, name: str) -> None:
        super().__init__(f"Crawler with name {name} is not running.")


class CrawlerStopping(InvalidInput):
    """The run is already being stopped."""

    aws_code = "CrawlerStoppingException"

    def __init__(self, name: str) -> None:
        super().__init__(f"Crawler with name {name} is being stopped already.")


class TooManyCrawls(LimitExceeded):
    """The queue of crawls is full, or the server is shutting down."""

    def __init__(self, bound: int) -> None:
        super().__init__(
            f"{bound} crawls are running or waiting, which is the server's limit.",
            remedy="Wait for some to end, or stop them.",
        )

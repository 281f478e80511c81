"""The crawlers' errors, with the codes that Glue gives them."""

from penstock.errors import AlreadyExists, InvalidInput, LimitExceeded, NotFound

__all__ = ["CrawlerExists", "CrawlerNotFound", "CrawlerNotRunning", "CrawlerRunning", "CrawlerStopping", "TooManyCrawls"]


class CrawlerNotFound(NotFound):
    """There is no crawler of this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Crawler with name {name} does not exist.", remedy="ListCrawlers names the ones there are.")


class CrawlerExists(AlreadyExists):
    """The crawler's name is taken."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Crawler with name {name} already exists.")


class CrawlerRunning(InvalidInput):
    """The crawler runs, and must not for what was asked."""

    aws_code = "CrawlerRunningException"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Crawler with name {name} has already started.", remedy="Wait until GetCrawler shows READY, or stop it."
        )


class CrawlerNotRunning(InvalidInput):
    """There is no run to stop."""

    aws_code = "CrawlerNotRunningException"

    def __init__(self, name: str) -> None:
        super().__init__(f"Crawler with name {name} is not running.")


class CrawlerStopping(InvalidInput):
    """The run is being stopped already."""

    aws_code = "CrawlerStoppingException"

    def __init__(self, name: str) -> None:
        super().__init__(f"Crawler with name {name} is being stopped already.")


class TooManyCrawls(LimitExceeded):
    """The queue of crawls is full, or the server is shutting down."""

    def __init__(self, bound: int) -> None:
        super().__init__(
            f"{bound} crawls are running or waiting, the most that this server takes.",
            remedy="Wait for some to end, or stop them.",
        )

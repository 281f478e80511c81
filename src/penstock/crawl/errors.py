"""The crawlers' errors, with the codes that Glue gives them."""

from penstock.errors import AlreadyExists, InvalidInput, LimitExceeded, NotFound

__all__ = [
    "ClassifierExists",
    "ClassifierNotFound",
    "CrawlerExists",
    "CrawlerNotFound",
    "CrawlerNotRunning",
    "CrawlerRunning",
    "CrawlerStopping",
    "NoSchedule",
    "ScheduleNotRunning",
    "ScheduleRunning",
    "TooManyCrawls",
]


class ClassifierNotFound(NotFound):
    """No classifier has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Classifier with name {name} does not exist.", remedy="GetClassifiers lists the existing ones.")


class ClassifierExists(AlreadyExists):
    """The classifier's name is taken."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Classifier with name {name} already exists.")


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


class NoSchedule(InvalidInput):
    """The crawler has no schedule to start."""

    aws_code = "NoScheduleException"

    def __init__(self, name: str) -> None:
        super().__init__(f"Crawler with name {name} has no schedule.", remedy="Give it one with UpdateCrawlerSchedule.")


class ScheduleRunning(InvalidInput):
    """The schedule is running already."""

    aws_code = "SchedulerRunningException"

    def __init__(self, name: str) -> None:
        super().__init__(f"The schedule of crawler {name} is running already.")


class ScheduleNotRunning(InvalidInput):
    """The schedule is not running."""

    aws_code = "SchedulerNotRunningException"

    def __init__(self, name: str) -> None:
        super().__init__(f"The schedule of crawler {name} is not running.")


class TooManyCrawls(LimitExceeded):
    """The queue of crawls is full, or the server is shutting down."""

    def __init__(self, bound: int) -> None:
        super().__init__(
            f"{bound} crawls are running or waiting, which is the server's limit.",
            remedy="Wait for some to end, or stop them.",
        )

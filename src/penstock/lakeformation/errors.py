"""Lake Formation's errors, with its codes."""

from penstock.errors import AlreadyExists, ConcurrentModification, InvalidInput, NotFound

__all__ = ["Conflict", "InvalidRequest", "NoSuchEntity", "Taken"]


class InvalidRequest(InvalidInput):
    """A request that Lake Formation refuses."""

    aws_code = "InvalidInputException"


class NoSuchEntity(NotFound):
    """A tag, filter or resource does not exist."""

    aws_code = "EntityNotFoundException"


class Taken(AlreadyExists):
    """A tag, filter or resource exists already."""

    aws_code = "AlreadyExistsException"


class Conflict(ConcurrentModification):
    """Another version of the filter was stored meanwhile."""

    aws_code = "ConcurrentModificationException"

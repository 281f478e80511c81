"""The error of a policy document, with its place."""

from penstock.errors import InvalidInput

__all__ = ["MalformedPolicy"]


class MalformedPolicy(InvalidInput):
    """The policy document breaks the grammar at ``place`` (such as ``Statement[0].Action``)."""

    aws_code = "MalformedPolicyDocument"

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"The policy is malformed: {place} {problem}.", remedy="Correct the document; nothing was changed.")
        self.place = place

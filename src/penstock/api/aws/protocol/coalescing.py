"""Requests that are answered several at a time, because many writes in one transaction cost less than each in its own.

Each is checked, admitted and answered for itself: an error of one is not an error of the others.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.api.aws.protocol.endpoints import Endpoint
from penstock.api.aws.protocol.operations import Handler, OperationAuthorizer, RequestContext

__all__ = ["Asked", "Gathered", "answer_together"]

Asked = tuple[Mapping[str, Any], RequestContext]
Answer = Mapping[str, Any] | Exception


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """A handler that answers many requests, in order, as it would one at a time.

    ``many`` knows who asks from the contexts alone.
    """

    one: Handler
    many: Callable[[Sequence[Asked]], Sequence[Answer]]

    def __call__(self, request: Mapping[str, Any], context: RequestContext) -> Mapping[str, Any]:
        return self.one(request, context)


def answer_together(
    endpoint: Endpoint, authorizer: OperationAuthorizer | None, raw: Sequence[tuple[Any, RequestContext]]
) -> list[Any]:
    """For each request as it was sent, in order, the body of its answer or what it is refused with."""
    outcomes: list[bytes | Exception | None] = [None] * len(raw)
    admitted: dict[Handler, dict[int, Asked]] = {}
    for place, (sent, context) in enumerate(raw):
        try:
            request, handler = endpoint.check(sent), endpoint.handler
            if context.trace is not None:
                context.trace.request = request
            if authorizer is not None:
                handler, context = authorizer.authorize(endpoint, request, context)  # noqa: PLW2901 -- the one to go on with
        except Exception as error:  # noqa: BLE001 -- rendered as the answer of this request
            outcomes[place] = error
        else:
            admitted.setdefault(handler, {})[place] = (request, context)
    for handler, asked in admitted.items():
        answers = handler.many(list(asked.values())) if isinstance(handler, Gathered) else _one_by_one(handler, asked)
        for (place, (_, context)), answer in zip(asked.items(), answers, strict=True):
            outcomes[place] = answer if isinstance(answer, Exception) else _encoded(endpoint, answer, context)
    return outcomes


def _encoded(endpoint: Endpoint, answer: Mapping[str, Any], context: RequestContext) -> bytes | Exception:
    try:
        return endpoint.encode(answer, context)
    except Exception as error:  # noqa: BLE001 -- rendered as the answer of this request
        return error


def _one_by_one(handler: Handler, asked: Mapping[int, Asked]) -> list[Answer]:
    answers: list[Answer] = []
    for request, context in asked.values():
        try:
            answers.append(handler(request, context))
        except Exception as error:  # noqa: BLE001 -- rendered as the answer of this request
            answers.append(error)
    return answers

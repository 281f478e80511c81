"""Operations by X-Amz-Target: served ones, those that AWS has and this server does not, and unknown ones."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from penstock.api.aws.members.served import Members, members_of
from penstock.api.aws.protocol.errors import InvalidShape, MemberNotServed, UnknownOperation
from penstock.api.aws.protocol.models import SERVICES, ServiceModel, load_model
from penstock.api.aws.protocol.operations import (
    AnyHandler,
    BatchHandler,
    Handler,
    OperationAuthorizer,
    OperationCall,
    OperationSet,
    RequestContext,
)
from penstock.api.aws.protocol.query import QUERY_CODES, read_members, write_response
from penstock.api.aws.protocol.shapes import Checker, Renderer, ShapeCompiler, UnservedMember
from penstock.errors import InternalError, InvalidInput, OperationNotServed, PenstockError
from penstock.registry.audit import Actor, acting

__all__ = ["Endpoint", "EndpointTable", "Service"]

# Codes for requests that break the model's rules, of services that do not use ValidationException.
_SHAPE_CODES = {"athena": "InvalidRequestException", "logs": "InvalidParameterException"}
_MAX_LISTED = 20  # broken rules in one message


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A service of AWS that this server serves."""

    model: ServiceModel
    compiler: ShapeCompiler
    members: Members
    renamed: Mapping[type[PenstockError], str]
    """The service's own codes for classes of the error tree."""
    message_keys: Mapping[str, str]


# Services that scripts of Glue call beside those that are served, by the beginning of their targets: the name, and how
# boto3's variable for its endpoint ends.
_ELSEWHERE = {
    "DynamoDB": ("DynamoDB", "DYNAMODB"),
    "DynamoDBStreams": ("DynamoDB Streams", "DYNAMODB_STREAMS"),
    "AmazonSSM": ("Systems Manager", "SSM"),
    "AWSEvents": ("EventBridge", "EVENTBRIDGE"),
    "AWSStepFunctions": ("Step Functions", "SFN"),
    "AmazonSQS": ("SQS", "SQS"),
    "Kinesis": ("Kinesis", "KINESIS"),
    "Firehose": ("Firehose", "FIREHOSE"),
    "TrentService": ("KMS", "KMS"),
    "Logs": ("CloudWatch Logs", "CLOUDWATCH_LOGS"),
    "RedshiftData": ("Redshift's Data API", "REDSHIFT_DATA"),
}


class Endpoint:
    """One served operation: its handler and its shapes, compiled on first use."""

    __slots__ = ("_checker", "_misplaced", "_renderer", "bounded", "handler", "inline", "operation", "service", "unsigned")

    def __init__(
        self,
        service: Service,
        operation: str,
        handler: AnyHandler,
        *,
        inline: bool,
        bounded: bool = False,
        unsigned: bool = False,
        misplaced: Mapping[str, str] | None = None,
    ) -> None:
        self.service = service
        self.operation = operation
        self.handler = handler
        self.inline = inline
        self.bounded = bounded
        self.unsigned = unsigned
        self._misplaced = misplaced or {}
        self._checker: Checker | None = None
        self._renderer: Renderer | None = None

    def answer(
        self, sent: Sequence[tuple[Any, RequestContext]], authorizer: OperationAuthorizer | None
    ) -> list[bytes | Exception]:
        """Return for each request as it was sent, in order, the body of its answer or its error.

        Each is checked, authorized and answered separately; those of one :class:`BatchHandler` are answered together.
        """
        answers: list[bytes | Exception] = []
        batches: dict[BatchHandler, dict[int, OperationCall]] = {}
        for raw, context in sent:
            try:
                request, handler = self.check(raw), self.handler
                if context.trace is not None:
                    context.trace.request = request
                if authorizer is not None:
                    handler, context = authorizer.authorize(self, request, context)  # noqa: PLW2901 -- the one to go on with
                if isinstance(handler, BatchHandler):
                    batches.setdefault(handler, {})[len(answers)] = (request, context)
                    answers.append(b"")
                else:
                    # Inline operations change nothing that is recorded.
                    response = handler(request, context) if context.on_loop else _acted(handler, request, context)
                    answers.append(self.encode(response, context))
            except Exception as error:  # noqa: BLE001 -- rendered as the answer of this request
                answers.append(error)
        for handler, calls in batches.items():
            for (place, (_, context)), answer in zip(calls.items(), handler.answer(list(calls.values())), strict=True):
                answers[place] = answer if isinstance(answer, Exception) else self._encoded(answer, context)
        return answers

    def check(self, request: Any) -> Mapping[str, Any]:
        """Return the request as Python values.

        ``request`` is the JSON of the body, or the fields of a form. Raises ``UnreadableRequest``, :class:`InvalidShape`
        with every broken rule, or :class:`MemberNotServed` for a member that would be ignored.
        """
        model = self.service.model
        if self._checker is None:
            shape = model.operations[self.operation].get("input", {}).get("shape")
            self._checker = self.service.compiler.checker(shape) if shape else _empty
        if model.query:
            request = read_members(model, model.operations[self.operation].get("input", {}).get("shape"), request)
        for name, text in self._misplaced.items():
            if isinstance(request, Mapping) and name in request:
                raise InvalidInput(text)
        broken: list[str] = []
        try:
            checked: Mapping[str, Any] = self._checker(request, "", broken)
        except UnservedMember as found:
            raise MemberNotServed(
                f"{found.member} (at '{found.path}') is a member of {self.operation} that Penstock does not serve.",
                remedy=self.service.members.remedy(found.member),
            ) from None
        if broken:
            count = f"{len(broken)} validation error{'s' if len(broken) > 1 else ''} detected"
            raise InvalidShape(f"{count}: {'; '.join(broken[:_MAX_LISTED])}")
        return checked

    def render(self, response: Mapping[str, Any]) -> Any:
        """Return the handler's response as JSON values."""
        if self._renderer is None:
            shape = self.service.model.operations[self.operation].get("output", {}).get("shape")
            self._renderer = self.service.compiler.renderer(shape) if shape else _no_output
        return self._renderer(response)

    def encode(self, response: Mapping[str, Any], context: RequestContext) -> bytes:
        """Return the body of the answer."""
        if self.service.model.query:
            return write_response(self.service.model, self.operation, response, context.request_id)
        return orjson.dumps(self.render(response))

    def _encoded(self, response: Mapping[str, Any], context: RequestContext) -> bytes | Exception:
        try:
            return self.encode(response, context)
        except Exception as error:  # noqa: BLE001 -- rendered as the answer of this request
            return error


class EndpointTable:
    """Endpoints by target. Raises ``ValueError`` for a handler whose operation AWS does not have."""

    def __init__(self, sets: Iterable[OperationSet]) -> None:
        self._endpoints: dict[str, Endpoint] = {}
        self._services: dict[str, Service] = {}
        for served in sets:
            service = self._service(served.service)
            unknown = (set(served.handlers) | set(served.inline) | set(served.bounded)) - set(service.model.operations)
            if unknown:
                raise ValueError(f"{served.service} has no operation {', '.join(sorted(unknown))}")
            for operation, handler in served.handlers.items():
                target = f"{service.model.target_prefix}.{operation}"
                if target in self._endpoints:
                    raise ValueError(f"{target} is served twice")
                self._endpoints[target] = Endpoint(
                    service,
                    operation,
                    handler,
                    inline=operation in served.inline,
                    bounded=operation in served.bounded,
                    unsigned=operation in served.unsigned,
                    misplaced=served.misplaced.get(operation),
                )
        for name in SERVICES:
            self._service(name)

    def get(self, target: str) -> Endpoint | None:
        """Return the endpoint that serves ``target`` (``AWSGlue.GetSchema``), or None."""
        return self._endpoints.get(target)

    def service_of(self, target: str) -> Service:
        """Return the service whose prefix ``target`` has; raise :class:`UnknownOperation` if there is none."""
        prefix = target.rpartition(".")[0]
        for service in self._services.values():
            if service.model.target_prefix == prefix:
                return service
        prefixes = ", ".join(
            sorted(service.model.target_prefix for service in self._services.values() if not service.model.query)
        )
        if not target:
            raise UnknownOperation(
                "The request names no operation.",
                remedy=f"Send X-Amz-Target: PREFIX.OPERATION, where PREFIX is one of {prefixes}.",
            )
        elsewhere = _ELSEWHERE.get(prefix.partition("_")[0])
        if elsewhere is not None:
            name, variable = elsewhere
            raise UnknownOperation(
                f"Penstock does not serve {name}, which has the operation '{target[:200]}'.",
                remedy=f"Set AWS_ENDPOINT_URL_{variable}, or give the client the endpoint_url of one that does.",
            )
        raise UnknownOperation(f"There is no operation '{target[:200]}'.", remedy=f"Known prefixes: {prefixes}.")

    def form_service(self, signing_name: str) -> Service:
        """Return the query protocol's service with this signing name; for an unknown name, any service of the protocol."""
        speaking = [service for service in self._services.values() if service.model.query]
        return next((service for service in speaking if service.model.signing_name == signing_name), speaking[0])

    def refuse(self, target: str) -> PenstockError:
        """Return the error for a target that is not served: AWS's if AWS does not have the operation, else Penstock's."""
        service = self.service_of(target)
        operation = target.rpartition(".")[2]
        if operation in service.model.operations:
            return OperationNotServed(
                f"{operation} is an operation of {service.model.name} that Penstock does not serve yet.",
                remedy="'penstock operations' lists the served ones.",
            )
        return UnknownOperation(f"{service.model.name} has no operation '{operation[:200]}'.")

    def known_operation(self, target: str) -> str:
        """Return the operation that ``target`` names if AWS has it, else an empty string: safe for a metric's label."""
        operation = target.rpartition(".")[2]
        return operation if operation in self.service_of(target).model.operations else ""

    def coverage(self) -> dict[str, dict[str, bool]]:
        """Return every operation of AWS, by service: served or not."""
        return {
            name: {
                operation: f"{service.model.target_prefix}.{operation}" in self._endpoints
                for operation in sorted(service.model.operations)
            }
            for name, service in sorted(self._services.items())
        }

    def _service(self, name: str) -> Service:
        if name not in self._services:
            model = load_model(name)
            renamed: dict[type[PenstockError], str] = {
                InternalError: model.internal_error,
                PenstockError: model.internal_error,
            }
            if model.query:
                renamed = dict(QUERY_CODES)
            if name in _SHAPE_CODES:
                renamed[InvalidShape] = _SHAPE_CODES[name]
                renamed[InvalidInput] = _SHAPE_CODES[name]
            members = members_of(name)
            self._services[name] = Service(
                model=model,
                compiler=ShapeCompiler(model.shapes, members),
                members=members,
                renamed=renamed,
                message_keys=model.message_keys,
            )
        return self._services[name]


def _acted(handler: Handler, request: Mapping[str, Any], context: RequestContext) -> Mapping[str, Any]:
    with acting(Actor(principal=context.principal, client=context.client)):
        return handler(request, context)


def _empty(value: Any, path: str, broken: list[str]) -> Any:  # noqa: ARG001
    return {}


def _no_output(value: Any) -> Any:  # noqa: ARG001
    return {}

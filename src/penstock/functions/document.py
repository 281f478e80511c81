"""Reads a function and its mappings from YAML or JSON, with the names of CreateFunction and CreateEventSourceMapping.

Limits are those of the service model. ``CodeUri`` is the name of the code's folder in SAM templates; ``EventSourceMappings``
has the members of CreateEventSourceMapping for each source. Penstock's own are ``BootstrapServers`` (an MSK cluster's
brokers, which AWS would look up), ``SecurityProtocol`` and folders as destinations.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from penstock.client.broker import Security
from penstock.client.kinesis import StartingPosition
from penstock.errors import InvalidInput
from penstock.functions.handler import require_module
from penstock.functions.model import (
    EventSourceMapping,
    FailurePolicy,
    Function,
    KafkaAccess,
    KafkaSource,
    KinesisSource,
    SchemaRegistry,
)
from penstock.functions.patterns import Matcher, compile_pattern
from penstock.names import DEFAULT_ACCOUNT, DEFAULT_REGION, Arn, parse_arn
from penstock.settings.document import Section, load_document, read_text

__all__ = ["KAFKA_RETRIES", "Declaration", "parse_function", "read_function"]

KAFKA_RETRIES = 10
"""Retries of a Kafka mapping that has an on-failure destination and no limit of its own, as in Lambda."""

# The forms of texts by their keys: regular expression, name, remedy.
_ADDRESS = (r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}", "a broker's address", "It has the form HOST:PORT.")
_FORMS = {
    "FunctionName": (r"[a-zA-Z0-9-_]{1,64}", "a function name", "Use up to 64 letters, digits, '-' and '_'."),
    "Handler": (
        r"(?!.{129})[^\s]+\.[A-Za-z_][A-Za-z0-9_]*",
        "a handler",
        "It has the form MODULE.FUNCTION, such as consumer.handler.",
    ),
    "UUID": (  # also used as a file name
        r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}",
        "an id",
        "Use up to 128 letters, digits and '.', '_', '-', such as a UUID.",
    ),
    "Topics": (
        r"[^.]([a-zA-Z0-9\-_.]+)",
        "a topic name that Lambda accepts",
        "One has two or more letters, digits, '.', '_' and '-'.",
    ),
    "Destination": (
        r"kafka://[^.][a-zA-Z0-9\-_.]{0,248}|arn:aws[a-z-]*:(sqs|sns|s3):.+|s3://[^/]+.*|file://.+",
        "a destination",
        "Name kafka://TOPIC, the ARN of a queue, topic or bucket, s3://BUCKET/prefix, or file://FOLDER.",
    ),
    "BootstrapServers": _ADDRESS,
    "KAFKA_BOOTSTRAP_SERVERS": _ADDRESS,
}
_STREAM = re.compile(r"stream/[a-zA-Z0-9_.-]{1,128}")
_VARIABLE = re.compile(r"[a-zA-Z][a-zA-Z0-9_]+")
_LATEST_MOMENT = 253_402_300_799  # seconds since 1970: the end of the year 9999
_STARTS: tuple[StartingPosition, ...] = ("TRIM_HORIZON", "LATEST", "AT_TIMESTAMP")
_PROTOCOLS: tuple[Security, ...] = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_LOGINS = {
    "SASL_SCRAM_512_AUTH": "SCRAM-SHA-512",
    "SASL_SCRAM_256_AUTH": "SCRAM-SHA-256",
    "BASIC_AUTH": "PLAIN",
}
_NETWORK = frozenset({"VPC_SUBNET", "VPC_SECURITY_GROUP"})
_ACCESS = (*_LOGINS, "SERVER_ROOT_CA_CERTIFICATE", "CLIENT_CERTIFICATE_TLS_AUTH", *sorted(_NETWORK))
# Members of Lambda's request for other sources, or without meaning outside AWS: known, and not supported.
_NOT_SERVED = {
    "Queues": "belongs to Amazon MQ",
    "DocumentDBEventSourceConfig": "belongs to Amazon DocumentDB",
    "ScalingConfig": "belongs to Amazon SQS; Kafka's pollers have ProvisionedPollerConfig",
    "TumblingWindowInSeconds": "is not served: functions have no state over windows",
    "KMSKeyArn": "is not served: filters are in this document, unencrypted",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """A document: the function, its sources and the file."""

    function: Function
    mappings: tuple[EventSourceMapping, ...]
    origin: str


def read_function(path: Path, environment: Mapping[str, str] | None = None) -> Declaration:
    """Return the declaration in the file ``path``; ``${NAME}`` is replaced from ``environment`` (None: this process's).

    Raises :class:`InvalidInput` with file and line; also if the handler's module is missing or is not Python.
    """
    text = read_text(path, "function")
    variables = os.environ if environment is None else environment
    return parse_function(text, origin=str(path), environment=variables, folder=path.parent, look=True)


def parse_function(
    text: str,
    *,
    origin: str = "<text>",
    environment: Mapping[str, str],
    folder: Path | None = None,
    look: bool = False,
) -> Declaration:
    """Return the declaration in ``text``; relative folders are below ``folder`` (None: the working directory).

    ``look``: also check the handler's module.
    """
    top = load_document(text, origin=origin, environment=environment, what="function", first="FunctionName")
    base = (folder or Path()).absolute()
    function = _function(top, base, environment)
    if look:
        try:
            require_module(function.code, function.handler)
        except InvalidInput as error:
            raise top.fault(error.message, key="Handler", remedy=error.remedy) from None
    mappings = tuple(_mapping(section, function, base) for section in top.sections("EventSourceMappings"))
    top.done()
    ids = [mapping.group for mapping in mappings]
    if len(set(ids)) != len(ids):
        raise top.fault(
            "two mappings have the same source and id",
            key="EventSourceMappings",
            remedy="Give each its own ConsumerGroupId or UUID, or remove one.",
        )
    return Declaration(function=function, mappings=mappings, origin=origin)


def _function(top: Section, base: Path, environment: Mapping[str, str]) -> Function:
    name = top.required("FunctionName")
    _check(top, "FunctionName", name)
    handler = top.required("Handler")
    _check(top, "Handler", handler)
    runtime = top.text("Runtime")
    if runtime is not None and not runtime.startswith("python"):
        raise top.fault(
            f"Runtime {runtime} is not served", key="Runtime", remedy="Functions run on the Python that runs Penstock."
        )
    top.text("Description")
    role = top.text("Role")
    # Lambda's limit is 5,400 seconds, but that of event source mappings of Kafka and Kinesis is lower.
    timeout = top.integer("Timeout", minimum=1, maximum=900) or 3
    memory = top.integer("MemorySize", minimum=128, maximum=32_768) or 128
    code = base / (top.text("CodeUri") or ".")
    if not code.is_dir():
        raise top.fault(f"the code's folder {code} does not exist", key="CodeUri", remedy="Correct CodeUri.")
    section = top.section("Environment")
    variables = {}
    if section is not None:
        variables = section.mapping("Variables")
        section.done()
        for variable, value in variables.items():
            if not _VARIABLE.fullmatch(variable) or "\x00" in value:
                raise section.fault(
                    f"'{variable[:80]}' is not a valid environment variable",
                    key="Variables",
                    remedy="Use a letter, then letters, digits and '_' for its name, and no NUL in its value.",
                )
    owner = _arn(top, "Role", role) if role else None
    return Function(
        name=name,
        handler=handler,
        code=code,
        memory=memory,
        timeout=timeout,
        role=role,
        region=environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION") or DEFAULT_REGION,
        account=owner.account if owner else DEFAULT_ACCOUNT,
        variables=variables,
    )


def _check(section: Section, key: str, text: str) -> None:
    """Refuse a ``text`` that does not have the form of ``key``."""
    rule, what, remedy = _FORMS[key]
    if not re.fullmatch(rule, text):
        raise section.fault(f"'{text[:120]}' is not {what}", key=key, remedy=remedy)


def _arn(section: Section, key: str, text: str) -> Arn:
    try:
        return parse_arn(text)
    except InvalidInput as error:
        raise section.fault(error.message.rstrip("."), key=key, remedy=error.remedy) from None


def _mapping(section: Section, function: Function, base: Path) -> EventSourceMapping:
    for name, why in _NOT_SERVED.items():
        if section.has(name):
            raise section.fault(f"'{name}' {why}", key=name, remedy="Remove it.")
    for name in ("Tags", "MetricsConfig", "LoggingConfig"):
        section.plain(name)
    function_name = section.text("FunctionName")
    if function_name is not None and function_name not in {function.name, function.arn}:
        raise section.fault(f"the mapping is for function {function_name}, and this is {function.name}", key="FunctionName")
    arn_text = section.text("EventSourceArn")
    arn = _arn(section, "EventSourceArn", arn_text) if arn_text else None
    if arn is not None and arn.service == "kinesis":
        source: KafkaSource | KinesisSource = _kinesis(section, arn)
    elif arn is None or arn.service == "kafka":
        source = _kafka(section, arn)
    else:
        raise section.fault(
            f"{arn.service} is not a supported source", key="EventSourceArn", remedy="Name an MSK cluster or a stream."
        )
    kafka = isinstance(source, KafkaSource)
    window = section.integer("MaximumBatchingWindowInSeconds", minimum=0, maximum=300)
    size = section.integer("BatchSize", minimum=1, maximum=10_000) or 100
    start, start_at = _start(section)
    destination = _destination(section, source, base)
    mapping = EventSourceMapping(
        source=source,
        function_name=function.name,
        id=_identity(section),
        batch_size=size,
        # Lambda's default window is half a second for Kafka, and 0 for Kinesis.
        window=float(window) if window is not None else (0.5 if kafka else 0.0),
        start=start,
        start_at=start_at,
        policy=_policy(section, limited=kafka and destination is not None),
        report_failures="ReportBatchItemFailures" in _responses(section),
        destination=destination,
        patterns=_patterns(section),
        enabled=section.boolean("Enabled") is not False,
    )
    section.done()
    return mapping


def _identity(section: Section) -> str:
    uuid = section.text("UUID") or ""
    if uuid:
        _check(section, "UUID", uuid)
    return uuid


def _start(section: Section) -> tuple[StartingPosition, int | None]:
    start = section.choice(_STARTS, "StartingPosition")
    if start is None:
        raise section.fault("'StartingPosition' is missing", remedy=f"It can be {', '.join(_STARTS)}.")
    text = section.text("StartingPositionTimestamp")
    if (start == "AT_TIMESTAMP") != (text is not None):
        raise section.fault(
            "AT_TIMESTAMP and StartingPositionTimestamp go together", key="StartingPosition", remedy="Give both or neither."
        )
    return start, None if text is None else _moment(section, text)


def _moment(section: Section, text: str) -> int:
    """Return milliseconds since 1970 for seconds since then, or for an ISO 8601 date."""
    try:
        seconds = float(text)
    except ValueError:
        try:
            moment = datetime.fromisoformat(text)
            seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            seconds = -1.0
    if not 0 <= seconds <= _LATEST_MOMENT:
        raise section.fault(
            f"'{text[:80]}' is not a point in time since 1970",
            key="StartingPositionTimestamp",
            remedy="Use seconds since 1970, or 2026-01-31T12:00:00Z.",
        )
    return round(seconds * 1000)


def _policy(section: Section, *, limited: bool) -> FailurePolicy:
    retries = section.integer("MaximumRetryAttempts", minimum=-1, maximum=10_000)
    age = section.integer("MaximumRecordAgeInSeconds", minimum=-1, maximum=604_800)
    if age is not None and -1 < age < 60:
        raise section.fault(
            f"'MaximumRecordAgeInSeconds' is {age}",
            key="MaximumRecordAgeInSeconds",
            remedy="Use -1 (no limit), or 60 or more.",
        )
    unlimited = retries is None or retries < 0
    return FailurePolicy(
        retries=(KAFKA_RETRIES if limited else -1) if unlimited else retries or 0,
        age=-1 if age is None else age,
        bisect=bool(section.boolean("BisectBatchOnFunctionError")),
    )


def _responses(section: Section) -> tuple[str, ...]:
    response_types = section.texts("FunctionResponseTypes")
    for response_type in response_types:
        if response_type != "ReportBatchItemFailures":
            raise section.fault(
                f"'{response_type}' is not a response type",
                key="FunctionResponseTypes",
                remedy="It can be ReportBatchItemFailures.",
            )
    return response_types


def _patterns(section: Section) -> tuple[Matcher, ...]:
    criteria = section.section("FilterCriteria")
    if criteria is None:
        return ()
    matchers = []
    for entry in criteria.sections("Filters"):
        pattern = entry.plain("Pattern")
        entry.done()
        try:
            matchers.append(compile_pattern(pattern if pattern is not None else ""))
        except InvalidInput as error:
            raise entry.fault(error.message.rstrip("."), key="Pattern", remedy=error.remedy) from None
    criteria.done()
    return tuple(matchers)


def _destination(section: Section, source: KafkaSource | KinesisSource, base: Path) -> str | None:
    config = section.section("DestinationConfig")
    if config is None:
        return None
    failure = config.section("OnFailure")
    config.done()
    text = failure.text("Destination") if failure is not None else None
    if failure is None or not text:
        return None
    failure.done()
    _check(failure, "Destination", text)
    if text.startswith("kafka://"):
        if not isinstance(source, KafkaSource):
            raise failure.fault("a Kafka topic is a destination of Kafka sources only", key="Destination")
        if text.removeprefix("kafka://") == source.topic:
            raise failure.fault(
                f"topic {source.topic} is source and destination",
                key="Destination",
                remedy="Name another topic: failed records would return for ever.",
            )
    if text.startswith("file://"):
        return f"file://{(base / text.removeprefix('file://')).absolute()}"
    return text


def _kinesis(section: Section, arn: Arn) -> KinesisSource:
    for name in ("Topics", "SelfManagedEventSource", "SourceAccessConfigurations", "ProvisionedPollerConfig"):
        if section.has(name):
            raise section.fault(f"'{name}' belongs to Kafka sources", key=name, remedy="Remove it.")
    if not _STREAM.fullmatch(arn.resource) or not arn.region:
        raise section.fault(
            f"{arn} is not a stream", key="EventSourceArn", remedy="Name arn:aws:kinesis:REGION:ACCOUNT:stream/NAME."
        )
    factor = section.integer("ParallelizationFactor", minimum=1, maximum=10) or 1
    return KinesisSource(arn=str(arn), parallelization_factor=factor)


def _kafka(section: Section, arn: Arn | None) -> KafkaSource:
    if section.has("ParallelizationFactor"):
        raise section.fault(
            "'ParallelizationFactor' belongs to Kinesis", key="ParallelizationFactor", remedy="Use ProvisionedPollerConfig."
        )
    topics = section.texts("Topics")
    if len(topics) != 1:
        raise section.fault("'Topics' must name one topic", key="Topics")
    _check(section, "Topics", topics[0])
    brokers = _brokers(section, arn)
    name = "SelfManagedKafkaEventSourceConfig" if arn is None else "AmazonManagedKafkaEventSourceConfig"
    config = section.section(name)
    group, registry = None, None
    if config is not None:
        group = config.text("ConsumerGroupId")
        registry = _registry(config.section("SchemaRegistryConfig"))
        mode = config.text("ConsumptionMode") if arn is None else None
        if mode not in {None, "Stream"}:
            raise config.fault("ConsumptionMode Queue is not served", key="ConsumptionMode", remedy="Use Stream.")
        config.done()
    return KafkaSource(
        topic=topics[0],
        brokers=brokers,
        arn=None if arn is None else str(arn),
        group=group,
        access=_access(section),
        schema_registry=registry,
        pollers=_pollers(section),
    )


def _brokers(section: Section, arn: Arn | None) -> str | None:
    own = section.texts("BootstrapServers")
    managed = section.section("SelfManagedEventSource")
    if arn is not None:
        if managed is not None:
            raise section.fault("a source has either EventSourceArn or SelfManagedEventSource", key="SelfManagedEventSource")
        return _addresses(section, "BootstrapServers", own) or None
    if managed is None:
        raise section.fault(
            "the mapping has no source",
            remedy="Give EventSourceArn (Amazon MSK, Kinesis), or SelfManagedEventSource (Kafka).",
        )
    endpoints = managed.required_section("Endpoints")
    servers = endpoints.texts("KAFKA_BOOTSTRAP_SERVERS")
    brokers = _addresses(endpoints, "KAFKA_BOOTSTRAP_SERVERS", servers)
    endpoints.done()
    managed.done()
    if own or not servers:
        raise section.fault(
            "a self-managed cluster has its brokers in SelfManagedEventSource",
            remedy="Endpoints: KAFKA_BOOTSTRAP_SERVERS: [...]",
        )
    return brokers


def _addresses(section: Section, key: str, listed: Sequence[str]) -> str:
    """Return librdkafka's list of brokers; each text may have several, as a variable does."""
    addresses = [part.strip() for text in listed for part in text.split(",")]
    for address in addresses:
        _check(section, key, address)
    return ",".join(addresses)


def _access(section: Section) -> KafkaAccess:
    secrets: dict[str, str] = {}
    for entry in section.sections("SourceAccessConfigurations"):
        access_type = entry.required("Type")
        uri = entry.required("URI")
        entry.done()
        if access_type not in _ACCESS:
            raise entry.fault(
                f"access by {access_type} is not served", key="Type", remedy=f"It can be {', '.join(_ACCESS)}."
            )
        field = "login" if access_type in _LOGINS else access_type
        if field in secrets and access_type not in _NETWORK:
            raise entry.fault(f"{access_type} is a second way to log in", key="Type", remedy="Keep one of them.")
        secrets[field] = uri
        if access_type in _LOGINS:
            secrets["mechanism"] = _LOGINS[access_type]
    return KafkaAccess(
        login=secrets.get("login"),
        mechanism=secrets.get("mechanism", "SCRAM-SHA-512"),
        ca=secrets.get("SERVER_ROOT_CA_CERTIFICATE"),
        certificate=secrets.get("CLIENT_CERTIFICATE_TLS_AUTH"),
        security=section.choice(_PROTOCOLS, "SecurityProtocol"),
    )


def _registry(section: Section | None) -> SchemaRegistry | None:
    if section is None:
        return None
    uri = section.required("SchemaRegistryURI")
    record_format = section.choice(("JSON", "SOURCE"), "EventRecordFormat") or "JSON"
    attributes = []
    for entry in section.sections("SchemaValidationConfigs"):
        attribute = entry.choice(("KEY", "VALUE"), "Attribute")
        entry.done()
        if attribute is not None:
            attributes.append(attribute)
    login = None
    for entry in section.sections("AccessConfigs"):
        if entry.required("Type") != "BASIC_AUTH":
            raise entry.fault("the login at a registry is BASIC_AUTH", key="Type")
        login = entry.required("URI")
        entry.done()
    if not attributes:
        raise section.fault(
            "'SchemaValidationConfigs' is missing", remedy="Name the parts that have a schema: [{Attribute: VALUE}]."
        )
    section.done()
    return SchemaRegistry(uri=uri, format=record_format, attributes=frozenset(attributes), login=login)  # type: ignore[arg-type]


def _pollers(section: Section) -> tuple[int, int]:
    config = section.section("ProvisionedPollerConfig")
    # A poller has a process of its own, so the default depends on the machine, instead of AWS's 200.
    default = max(1, min(8, os.cpu_count() or 1))
    if config is None:
        return 1, default
    least = config.integer("MinimumPollers", minimum=1, maximum=200) or 1
    most = config.integer("MaximumPollers", minimum=1, maximum=10_000) or max(least, default)
    config.text("PollerGroupName")
    config.done()
    if most < least:
        raise config.fault(f"MaximumPollers ({most}) is less than MinimumPollers ({least})", key="MaximumPollers")
    return least, most

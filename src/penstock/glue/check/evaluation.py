"""What becomes of each use: by the table of Glue's library, the types of connections, the packages that are installed."""

import importlib.util
import os
import re
import zipfile
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from penstock.errors import InvalidInput
from penstock.glue.check.findings import Finding
from penstock.glue.check.options import is_write, option_findings
from penstock.glue.check.uses import Call, Use, Uses
from penstock.glue.entities.actions import check_types
from penstock.glue.library.connection_options import READS, WRITES
from penstock.glue.library.connection_types import type_remedy
from penstock.glue.library.format_options import FORMATS
from penstock.glue.library.table import ROWS, row
from penstock.glue.quality.parsing import parse
from penstock.glue.quality.rulesets import RulesetError

__all__ = ["BOTO3_SERVICES", "ScriptModules", "find_outcomes"]

BOTO3_SERVICES = frozenset(
    {
        "athena",
        "cloudtrail",
        "glue",
        "iam",
        "lakeformation",
        "logs",
        "organizations",
        "resourcegroupstaggingapi",
        "s3",
        "secretsmanager",
        "sts",
    }
)
"""The services of AWS that a platform serves, by boto3's names."""

_LIBRARIES = frozenset({item.module.partition(".")[0] for item in ROWS})
# Of these the table has all public names. A GlueContext has Spark's names besides.
_COMPLETE = {(item.module, item.owner) for item in ROWS} - {("awsglue.context", "GlueContext")}
_HUDI = "Hudi's connector does not resolve here: use an Iceberg or a Delta table."
_FILES = {"s3", "file"}
_ARCHIVES = {".zip", ".egg", ".whl"}
_MOST_NAMES = 100_000
_PROJECT = (".git", "pyproject.toml", "setup.py")
"""What the root of a project has."""
_MOST_FOLDERS = 4
# Names of Spark's data sources whose jars are not here. Others may be a script's own text.
_ABSENT_SOURCES = re.compile(
    r"hudi|(net\.snowflake\.spark\.)?snowflake|(io\.github\.spark_redshift_community|com\.databricks)\.\S+"
    r"|redshift|mongo(db)?|com\.mongodb\.\S+|bigquery|dynamodb|opensearch|es|org\.elasticsearch\.spark\.sql|com\.crealytics\.\S+"
    r"|org\.apache\.spark\.sql\.cassandra|com\.amazonaws\.\S+|marketplace\.\S+|custom\.\S+",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptModules:
    """The modules that a run of the script can import, besides those that are installed.

    ``folder`` is the script's; ``further`` are the names of other modules that it gets.

    ``unknown`` says that there are archives whose modules are not known, because they lie elsewhere.
    """

    folder: Path | None = None
    further: Collection[str] = ()
    unknown: bool = False

    @classmethod
    def of(cls, folder: Path, files: Iterable[str], *, packages: Iterable[str] = ()) -> "ScriptModules":
        """Return those of a script with the ``files`` of ``--extra-py-files``, also archives, and ``packages`` of pip."""
        modules = {re.split(r"[^\w.-]", package.strip())[0].replace("-", "_") for package in packages}
        unknown = False
        for file in files:
            name = PurePosixPath(file)
            modules.add(name.name.partition("-")[0] if name.suffix == ".whl" else name.stem)
            if name.suffix in _ARCHIVES:
                inside = _modules_of(folder / file.removeprefix("file://"))
                unknown = unknown or inside is None
                modules |= inside or set()
        return cls(folder=folder, further=modules, unknown=unknown)

    def above(self, name: str) -> Path | None:
        """Return the folder above the script's, in its project, that has a top-level module."""
        for folder in (self.folder, *self.folder.parents)[:_MOST_FOLDERS] if self.folder is not None else ():
            if folder != self.folder and _has(folder, name):
                return folder
            if any((folder / mark).exists() for mark in _PROJECT):
                return None
        return None

    def has_module(self, name: str) -> bool:
        """Return whether a top-level module can be imported; imports nothing."""
        if name in self.further:
            return True
        if self.folder is not None and _has(self.folder, name):
            return True
        try:
            return importlib.util.find_spec(name) is not None
        except (ImportError, ValueError):
            return True  # it is there, and has no specification


def _has(folder: Path, name: str) -> bool:
    return (folder / f"{name}.py").is_file() or (folder / name).is_dir()


def _modules_of(archive: Path) -> set[str] | None:
    """Return the top-level modules of an archive of Python, None if it cannot be read here."""
    try:
        with zipfile.ZipFile(archive) as opened:
            names = [PurePosixPath(name) for name in opened.namelist()[:_MOST_NAMES]]
    except (OSError, zipfile.BadZipFile):
        return None
    return {name.parts[0] if len(name.parts) > 1 else name.stem for name in names if name.suffix in {".py", ".so"}}


def find_outcomes(uses: Uses, reached: Collection[int], modules: ScriptModules) -> list[Finding]:
    """Return the findings, by line. ``reached`` are the nodes that every run evaluates."""
    findings = [
        *(finding for use in uses.names.values() for finding in _name(use, sure=use.certain and use.node in reached)),
        *_packages(uses, reached, modules),
        *(finding for call in uses.calls.values() for finding in _call(call, sure=call.node in reached)),
        *_entities(uses, reached),
        *_formats(uses, reached),
        *_jvm(uses, reached),
    ]
    return sorted(dict.fromkeys(findings), key=lambda fromkey: (fromkey.line, fromkey.name))


def _name(use: Use, *, sure: bool) -> Iterator[Finding]:
    entry, shown = row(use.module, use.name, use.owner), f"{use.owner or use.module}.{use.name}"
    if entry is None and use.owner == "DynamicFrame" and use.name.startswith("gs_"):
        # Glue Studio's are methods once a script imports their modules.
        entry = row(use.name, use.name)
    elif entry is not None:
        shown = entry.shown
    if entry is not None:
        note = entry.note if use.certain or entry.status == "served" else f"{entry.note} (If it is a {use.owner}.)"
        yield Finding(line=use.line, status=entry.status, name=shown, note=note, sure=sure and entry.status == "refused")
    elif (use.module, use.owner) in _COMPLETE and use.certain and not use.name.startswith("_"):
        yield Finding(
            line=use.line, status="unknown", name=shown, note="AWS's library has no such name in its public documents."
        )


def _packages(uses: Uses, reached: Collection[int], modules: ScriptModules) -> Iterator[Finding]:
    for name, line, node in uses.imports:
        if name in _LIBRARIES or name == "pyspark" or modules.has_module(name):
            continue
        near = modules.above(name)
        if near is not None:
            note = f"It is in {near}, where a job does not look: give it as --extra-py-files."
            yield Finding(line=line, status="differs", name=f"import {name}", note=note)
        else:
            note = (
                "There is no such module: install it for this Python, name it in --additional-python-modules, "
                "or put its file beside the script (--extra-py-files)."
            )
            sure = node in reached and not modules.unknown
            yield Finding(line=line, status="refused", name=f"import {name}", note=note, sure=sure)


def _call(call: Call, *, sure: bool) -> Iterator[Finding]:
    if call.name == "EvaluateDataQuality":
        yield from _ruleset(call, sure=sure)
        return
    if call.name in {"client", "resource"}:
        service = call.text("service_name")
        if service is not None and service not in BOTO3_SERVICES and not _has_endpoint(call, service):
            variable = _endpoint_variable(service)
            note = f"Penstock does not serve it: set {variable}, or give the client the endpoint_url of one that does."
            yield Finding(line=call.line, status="refused", name=f'boto3 "{service}"', note=note)
        return
    types = WRITES if is_write(call) else READS
    formats = [format_ for format_ in FORMATS if format_ in types]
    doing = "writing" if is_write(call) else "reading"
    connection_type = call.text("connection_type")
    if connection_type is not None and connection_type.lower() not in types:
        note = f"It is not supported for {doing}. {type_remedy(connection_type, types, writes=is_write(call))}"
        yield Finding(line=call.line, status="refused", name=f'connection_type="{connection_type}"', note=note, sure=sure)
    form = call.text("format")
    if form is not None and (connection_type is None or connection_type.lower() in _FILES) and form.lower() not in formats:
        note = f"It is not supported for {doing}. Use one of {', '.join(sorted(formats))}."
        yield Finding(
            line=call.line, status="refused", name=f'format="{form}"', note=note, sure=sure and connection_type is not None
        )
    yield from option_findings(call, sure=sure)


def _has_endpoint(call: Call, service: str) -> bool:
    return "endpoint_url" in call.arguments or bool(os.environ.get(_endpoint_variable(service)))


def _endpoint_variable(service: str) -> str:
    """Return the variable by which boto3 finds a service elsewhere: by the service's id (``logs`` is CLOUDWATCH_LOGS)."""
    from botocore.exceptions import UnknownServiceError  # noqa: PLC0415 - most scripts have no such client
    from botocore.loaders import create_loader  # noqa: PLC0415

    try:
        service_id = create_loader().load_service_model(service, "service-2")["metadata"]["serviceId"]
    except UnknownServiceError:
        service_id = service
    return f"AWS_ENDPOINT_URL_{service_id.upper().replace('-', '_').replace(' ', '_')}"


def _ruleset(call: Call, *, sure: bool) -> Iterator[Finding]:
    ruleset = call.text("ruleset")
    try:
        parse(ruleset or "Rules = []")
    except RulesetError as error:
        yield Finding(line=call.line, status="refused", name="EvaluateDataQuality", note=str(error), sure=sure)


def _entities(uses: Uses, reached: Collection[int]) -> Iterator[Finding]:
    for names, line, node in uses.entities:
        try:
            check_types(names)
        except InvalidInput as error:
            yield Finding(line=line, status="refused", name="EntityDetector", note=str(error), sure=node in reached)


def _formats(uses: Uses, reached: Collection[int]) -> Iterator[Finding]:
    for text, line, node in uses.texts:
        if _ABSENT_SOURCES.fullmatch(text):
            note = "Spark has no such source here: add its jar, --conf spark.jars=FILE.jar."
            hudi = text.lower() == "hudi"
            sure = node in reached and hudi
            yield Finding(line=line, status="refused", name=f'format("{text}")', note=_HUDI if hudi else note, sure=sure)
    # The first use is enough.
    for line, node in uses.hudi[:1]:
        yield Finding(line=line, status="refused", name="Hudi", note=_HUDI, sure=node in reached)


def _jvm(uses: Uses, reached: Collection[int]) -> Iterator[Finding]:
    chains = list(uses.jvm.items())
    for node, (chain, line) in chains:
        if any(other.startswith(f"{chain}.") and at == line for _, (other, at) in chains):
            continue  # a part of a longer chain
        of_aws = "amazonaws" in chain or ".glue." in chain
        note = "It is an object of AWS's own JVM classes; use the Python names of Glue's library." if of_aws else ""
        sure = of_aws and node in reached
        yield Finding(line=line, status="refused" if of_aws else "served", name=chain, note=note, sure=sure)

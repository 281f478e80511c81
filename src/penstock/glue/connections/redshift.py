"""Redshift's rows through a folder in S3, as AWS's connector moves them: COPY of files, and UNLOAD into them.

Only a server that is Redshift can do so, and only with a folder that it reaches: one in AWS's S3, not in the embedded lake.
Source: "Redshift connections", https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-etl-connect-redshift-home.html.
Unlike the connector, the files of a write are deleted after it.
"""

import json
import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import boto3
from pyspark.sql import DataFrame

from penstock.client.databases.postgresql import Database, connected
from penstock.client.databases.redshift import (
    by_keys,
    by_role,
    copied_rows,
    copy_statement,
    is_redshift,
    manifest,
    unload_statement,
)
from penstock.errors import InvalidInput
from penstock.glue.connections.databases import Target
from penstock.glue.options import Options
from penstock.glue.session import GlueSession
from penstock.spark.sinks.jdbc.values import csv_lines

__all__ = ["TempDir", "is_aws", "temp_dir"]

_FOLDERS = ("redshiftTmpDir", "TempDir", "tempdir")
_ROLES = ("aws_iam_role", "aws_iam_user")  # Glue Studio writes a role under the second name
_S3 = re.compile(r"s3[an]?://")
_S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_AWS = (".amazonaws.com", ".amazonaws.com.cn")
_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d")


@dataclass(frozen=True, slots=True, kw_only=True)
class TempDir:
    """A folder for files between Spark and Redshift. ``role`` None: with the credentials of this process.

    ``copy_options`` and ``unload_options`` are the script's; ``key`` is the KMS key of unloaded files.
    """

    session: GlueSession
    folder: str
    role: str | None = None
    region: str | None = None
    key: str | None = None
    copy_options: str = ""
    unload_options: str = ""

    def copy(self, database: Database, table: str, columns: Sequence[str], rows: DataFrame) -> int | None:
        """Load ``rows`` into ``columns`` of ``table``, all quoted; return how many, None if the server is not Redshift."""
        if not is_redshift(database):
            check_copy_options(self.copy_options)
            return None
        if self.key is not None:
            raise InvalidInput(
                "Option sse_kms_key of the redshift sink is not supported.",
                remedy="Give the bucket of redshiftTmpDir a default encryption by that key.",
            )
        folder, null = f"{self.folder}/{uuid.uuid4().hex}", f"@{uuid.uuid4().hex}@"
        files = self.session.files
        try:
            csv_lines(rows, null=null).write.text(folder, compression="gzip")
            files.write(f"{folder}/manifest", manifest(node for node in files.walk(folder) if node.endswith(".gz")))
            database.run(
                copy_statement(
                    table, columns, f"{folder}/manifest", self._authorization(), null=null, region=self.region,
                    more=self.copy_options,
                )
            )  # fmt: skip
            return copied_rows(database)
        finally:
            files.delete(folder)

    def unload(self, target: Target, source: str) -> DataFrame | None:
        """Return the rows of a table or of a query with a name; None if the server is not Redshift, or there are none.

        The files stay, as Spark reads them when the rows are used.
        """
        assert target.address is not None
        folder = f"{self.folder}/{uuid.uuid4().hex}/"
        address = replace(target.address, user=target.user, password=target.password)
        with connected(address, "The redshift source") as database:
            if not is_redshift(database):
                return None
            database.run(
                unload_statement(
                    f"SELECT * FROM {source}",  # noqa: S608 -- the script's own table or query
                    folder, self._authorization(), double_backslashes=database.doubles_backslashes,
                    region=self.region, key=self.key, more=self.unload_options,
                )
            )  # fmt: skip
        entries = json.loads(self.session.files.read(f"{folder}manifest"))["entries"]
        return self.session.spark.read.parquet(*(entry["url"] for entry in entries)) if entries else None

    def _authorization(self) -> str:
        if self.role is not None:
            return by_role(self.role)
        credentials = boto3.session.Session().get_credentials()
        if credentials is None:
            raise InvalidInput(
                "Redshift needs a role, or AWS's credentials, to reach redshiftTmpDir.", remedy="Set aws_iam_role."
            )
        keys = credentials.get_frozen_credentials()
        return by_keys(keys.access_key or "", keys.secret_key or "", keys.token)


def check_copy_options(text: str) -> None:
    """Raise :class:`InvalidInput` for options of COPY where rows go to the database by INSERT."""
    if text:
        raise InvalidInput(
            "Option extracopyoptions is for rows that Redshift copies from S3, and these are inserted.",
            remedy="Set redshiftTmpDir to a folder in AWS's S3; or change the columns' types or values before.",
        )


def temp_dir(session: GlueSession, target: Target, options: Options, temporary: str) -> TempDir | None:
    """Return the folder for files, from ``options`` or else ``temporary`` (``redshift_tmp_dir``).

    None if rows cannot go through one: for other databases, without a folder, and with one that is not in AWS's S3. Raises
    :class:`InvalidInput` for options that are wrong.
    """
    folder = next((text for text in [options.text(name) for name in _FOLDERS] if text), temporary)
    role = next((text for text in [options.text(name) for name in _ROLES] if text), None)
    region, key = options.text("tempdir_region"), options.text("sse_kms_key")
    copy_options, unload_options = options.text("extracopyoptions") or "", options.text("extraunloadoptions") or ""
    if region is not None and not _REGION.fullmatch(region):
        raise InvalidInput(f"tempdir_region is {region[:100]!r}.", remedy="Write it like eu-central-1.")
    spark: Any = session.spark
    if target.dialect != "redshift" or not _S3.match(folder) or not is_aws(spark._jsc.hadoopConfiguration().get):
        check_copy_options(copy_options)
        return None
    return TempDir(
        session=session,
        folder=_S3.sub("s3://", folder.rstrip("/")),
        role=role,
        region=region,
        key=key,
        copy_options=copy_options,
        unload_options=unload_options,
    )


def is_aws(setting: Callable[[str], str | None]) -> bool:
    """Return whether Spark's ``s3://`` is AWS's own S3, neither the embedded lake nor another server's.

    ``setting`` returns one of Hadoop's configuration.
    """
    host = urlsplit(setting("fs.s3a.endpoint") or "").hostname or setting("fs.s3a.endpoint") or ""
    return setting("fs.s3.impl") == _S3A and (not host or host.endswith(_AWS))

"""Entry point of ``penstock``: imports a command's module when it is used, and prints errors as one clear message.

Commands are imported lazily because their packages come with extras: ``penstock produce`` works without the server's.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from penstock import __version__
from penstock.cli.failures import DEBUG, explained
from penstock.durable import PRIVATE_UMASK
from penstock.interpreter import guard_children

__all__ = ["cli", "main"]

# Command name -> (module with a click command named `command`, the extra that brings its dependencies, one-line help).
COMMANDS: dict[str, tuple[str, str, str]] = {
    "up": ("penstock.cli.platform.up", "all", "Start the broker, the S3 endpoint and the server."),
    "down": ("penstock.cli.platform.down", "local", "Stop a running platform."),
    "status": ("penstock.cli.platform.status", "local", "Show the platform's parts, their addresses and health."),
    "env": ("penstock.cli.platform.env", "local", "Print the environment that points AWS clients at the platform."),
    "certificate": ("penstock.cli.platform.certificate", "server", "Issue a client certificate for the broker."),
    "serve": ("penstock.cli.server.serve", "server", "Run the server alone."),
    "serve-s3": ("penstock.cli.server.serve_s3", "server", "Run the S3 endpoint alone."),
    "backup": ("penstock.cli.server.backup", "server", "Copy the whole store into one file, while it serves."),
    "restore": ("penstock.cli.server.restore", "server", "Replace the contents of the store with a backup."),
    "master-key": ("penstock.cli.server.master_key", "server", "Rotate the key that encrypts secrets at rest."),
    "account": ("penstock.cli.server.account", "client", "Create and list the accounts of a server."),
    "operations": ("penstock.cli.server.operations", "server", "List the AWS operations that the server supports."),
    "audit": ("penstock.cli.server.audit", "server", "Show, verify and export the audit log."),
    "registry": ("penstock.cli.registry.command", "client", "Export and import the registry's contents."),
    "produce": ("penstock.cli.streams.produce", "kafka", "Write records to a topic, serialized with a registered schema."),
    "schema": (
        "penstock.cli.schema.command",
        "client",
        "Check a definition before registration; compare versions.",
    ),
    "init": ("penstock.cli.streams.init", "kafka", "Write the YAML of a pipeline from a topic to a table."),
    "run": ("penstock.cli.streams.run", "spark", "Run a declared pipeline on Spark."),
    "submit": ("penstock.cli.streams.submit", "spark", "Submit a pipeline to YARN, Kubernetes, EMR Serverless or Glue."),
    "compact": ("penstock.cli.streams.compact", "spark", "Make small files of tables large ones, while streams write."),
    "dlq": ("penstock.cli.streams.dlq", "spark", "List, show and replay dead letters."),
    "glue": ("penstock.cli.streams.glue", "spark", "Run scripts written for AWS Glue."),
    "jobs": ("penstock.cli.jobs.command", "client", "Create, start and follow jobs, by Glue's API."),
    "metastore": ("penstock.cli.metastore", "metastore", "Serve the catalog to Spark and Hive by Thrift."),
    "functions": ("penstock.cli.streams.functions", "functions", "Run Lambda-style functions on Kafka and Kinesis."),
    "sql": ("penstock.cli.sql", "client", "Run one SQL statement and print the result."),
    "lake": ("penstock.cli.lake.command", "client", "Look at the object store that a lake is in."),
    "demo": ("penstock.cli.demo", "all", "Show the whole platform on real data, with every record reconciled."),
    "fetch": ("penstock.cli.platform.fetch", "local", "Download the JVM artefacts into the cache."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module, extra, _ = COMMANDS[cmd_name]
        try:
            command: click.Command = import_module(module).command
        except ModuleNotFoundError as error:
            if error.name is None or error.name.startswith("penstock"):
                raise
            raise click.ClickException(
                f"'penstock {cmd_name}' needs the package '{error.name}'. Install it with: pip install 'penstock[{extra}]'"
            ) from error
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="penstock")
def cli() -> None:
    """Streams with schemas: registry, broker, Spark pipeline, catalog and SQL on AWS's own wire protocols."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 failed, 2 wrong use, 3 a problem of the environment, 4 a problem of data.

    130 is Ctrl-C. Every exception is printed as one sentence; ``PENSTOCK_DEBUG=1`` shows tracebacks instead.
    """
    guard_children()
    # For the files of this process and of every child process.
    os.umask(PRIVATE_UMASK)
    try:
        # Without standalone mode, click returns the exit code of a command's Exit.
        status = cli.main(args=None if arguments is None else list(arguments), prog_name="penstock", standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("penstock: interrupted", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except Exception as error:
        if os.environ.get(DEBUG) == "1":
            raise
        problem = explained(error)
        click.echo(f"penstock: {problem}", err=True)
        sys.exit(problem.exit_code)
    else:
        sys.exit(status if isinstance(status, int) else 0)

"""``make chaos``: faults at every step of a batch, with as many records and faults as are asked for.

``python -m tests.chaos [--sinks parquet,jdbc] [--records 1000000] [--faults 40] [--seed N]``; the seed is printed, and the
same seed gives the same schedule. Each kind of sink alone with ``--each``; otherwise all in one pipeline.
"""

import random
import tempfile
from pathlib import Path

import click

from tests.chaos.faults import schedule
from tests.chaos.site import chaos_site


def _say(text: str) -> None:
    click.echo(text)


@click.command()
@click.option("--sinks", default="", metavar="NAMES", help="Kinds of sinks, with commas. [default: all]")
@click.option("--each", is_flag=True, help="Each kind in a pipeline of its own, one after the other.")
@click.option("--records", type=click.IntRange(100), default=1_000_000, show_default=True)
@click.option("--batches", type=click.IntRange(5), default=50, show_default=True, help="Batches without faults.")
@click.option("--faults", type=click.IntRange(0), default=40, show_default=True)
@click.option("--seed", type=int, default=None, help="Of the schedule. [default: a random one]")
def main(sinks: str, *, item: bool, records: int, batches: int, faults: int, seed: int | None) -> None:
    """Run a pipeline through a schedule of faults, and reconcile all of its sinks with the topic."""
    seed = random.SystemRandom().randrange(1_000_000) if seed is None else seed
    _say(f"seed {seed}")
    names = [name for name in sinks.split(",") if name]
    groups = [[name] for name in names or _kinds()] if item else [names]
    for group in groups:
        with tempfile.TemporaryDirectory(prefix="penstock-chaos-") as folder, chaos_site(Path(folder)) as site:
            targets = [site.makers[name]() for name in group or site.makers]
            world = site.world(targets, count=records, per_batch=records // batches)
            world.endure(schedule(seed, faults, list(site.services)))
            repeated = world.reconcile()
            _say(f"{', '.join(repeated)}: {records:,} records reconciled after {world.runs} runs; repeated rows: {repeated}")


def _kinds() -> list[str]:
    return ["parquet", "iceberg", "delta", "jdbc", "dynamodb", "kafka", "kinesis"]


if __name__ == "__main__":
    main()

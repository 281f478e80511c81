"""``make servers``: servers that are killed, stopped and restarted in turn for as many rounds as are asked for.

``python -m tests.servers [--servers 3] [--rounds 10] [--stopped 90] [--seed N]``; the seed is printed, the same seed gives
the same order of faults.
"""

import random
import tempfile
from pathlib import Path

import click

from tests.servers.site import server_site


@click.command()
@click.option("--servers", type=click.IntRange(2), default=3, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=10, show_default=True, help="In each, every fault comes once.")
@click.option(
    "--stopped", type=click.FloatRange(0), default=90.0, show_default=True, help="Seconds that a server is stopped."
)
@click.option("--seed", type=int, default=None, help="Of the order of faults. [default: a random one]")
def main(servers: int, rounds: int, stopped: float, seed: int | None) -> None:
    """Run several servers through faults under load, and compare what they answered with what is there."""
    seed = random.SystemRandom().randrange(1_000_000) if seed is None else seed
    click.echo(f"seed {seed}")
    chance = random.Random(seed)
    with (
        tempfile.TemporaryDirectory(prefix="penstock-servers-") as folder,
        server_site(Path(folder), servers=servers) as (
            site,
            work,
        ),
    ):
        for number in range(rounds):
            faults = [
                *(("kill", port) for port in site.ports),
                *(("replace", port) for port in site.ports),
                ("freeze", chance.choice(site.ports)),
                ("restart PostgreSQL", 0),
            ]
            chance.shuffle(faults)
            for fault, port in faults:
                before = work.await_answers()
                if fault == "kill":
                    site.kill(port)
                elif fault == "freeze":
                    site.freeze(port, stopped)
                elif fault == "restart PostgreSQL":
                    site.postgres.restart()
                else:
                    site.replace(port)
                    assert work.failed[before:] == []
                click.echo(
                    f"round {number + 1}: {fault} {port or ''}, {len(work.failed) - before} requests without an answer"
                )
        work.stop()
        for what, count in site.check(work).items():
            click.echo(f"{what}: {count:,}")


if __name__ == "__main__":
    main()

"""The short form of ``make chaos``: each kind of fault on one pipeline with every sink, and exact reconciliation."""

import os
import signal
from pathlib import Path

import pytest

from tests.chaos.faults import one_of_each
from tests.chaos.site import chaos_site

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1_200)]

COUNT = 2_000
# Another one is tried with PENSTOCK_CHAOS_SEED; it is printed.
SEED = int(os.environ.get("PENSTOCK_CHAOS_SEED", "11"))


def test_faults_at_any_step_lose_and_double_nothing_in_any_sink(tmp_path: Path) -> None:
    print(f"seed {SEED}")
    with chaos_site(tmp_path) as site:
        world = site.world(site.all_targets(), count=COUNT, per_batch=COUNT // 10)
        for fault in one_of_each(SEED, list(site.services)):
            status = world.run(fault)
            assert (status == -signal.SIGKILL) == (fault.kind == "kill"), fault
        assert world.run() == 0
        repeated = world.reconcile()
        assert {name for name, rows in repeated.items() if rows} <= {"kafka", "kinesis"}

"""Two servers behind a balancer: killed, restarted in turn, and their PostgreSQL restarted, while they are used.

The short form of ``make servers``.
"""

from pathlib import Path

from tests.servers.site import server_site


def test_what_several_servers_answer_is_true_whatever_happens_to_them(tmp_path: Path) -> None:
    with server_site(tmp_path, servers=2, pause=0.3) as (site, work):
        site.kill(site.ports[0])
        site.postgres.restart()
        before = work.await_answers()
        for port in site.ports:
            site.replace(port)
        assert work.failed[before:] == [], "a rolling restart fails no request"
        work.stop()
        checked = site.check(work)
        assert all(checked[what] for what in ("registrations", "reads", "partitions", "statements", "scheduled crawls"))

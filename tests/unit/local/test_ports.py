"""Taken, doubled and free ports."""

import socket

import pytest

from penstock.errors import EnvironmentProblem
from penstock.local.processes.ports import PortClaim, answers, check_ports, free_ports


def test_a_taken_port_names_the_part_and_the_option() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert answers("127.0.0.1", port)
        with pytest.raises(EnvironmentProblem) as caught:
            check_ports("127.0.0.1", [PortClaim(port=port, part="S3 endpoint", option="--s3-port")])
    assert f"Port {port} on 127.0.0.1 is taken; the S3 endpoint needs it." in str(caught.value)
    assert "--s3-port PORT" in str(caught.value)
    assert caught.value.exit_code == 3


def test_one_port_for_two_parts_is_refused() -> None:
    [port] = free_ports(1)
    claims = [PortClaim(port=port, part="A", option="--a"), PortClaim(port=port, part="B", option="--b")]
    with pytest.raises(EnvironmentProblem, match="used twice: by the A and by the B"):
        check_ports("127.0.0.1", claims)


def test_free_ports_are_free_and_different() -> None:
    ports = free_ports(5)
    assert len(set(ports)) == 5
    check_ports("127.0.0.1", [PortClaim(port=port, part=str(port), option="--x") for port in ports])
    assert not answers("127.0.0.1", ports[0])


def test_an_address_of_another_machine_is_a_clear_error() -> None:
    with pytest.raises(EnvironmentProblem, match="cannot be used"):
        check_ports("192.0.2.1", [PortClaim(port=free_ports(1)[0], part="A", option="--a")])

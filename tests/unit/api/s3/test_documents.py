"""Requests' documents that are refused."""

import asyncio
import contextlib
import threading

import pytest

from penstock.api.s3.model import service_model
from penstock.api.s3.work import Work
from penstock.api.s3.xml import parse_xml
from penstock.lake.objects.errors import S3Error


@pytest.mark.parametrize("encoding", ["nobody-knows-it", "rot13", "hex", "utf-7"])
def test_an_encoding_that_cannot_be_read_is_malformed(encoding: str) -> None:
    document = f'<?xml version="1.0" encoding="{encoding}"?><Tagging><TagSet/></Tagging>'
    with pytest.raises(S3Error) as refused:
        parse_xml(document.encode(), service_model().shape_for("Tagging"), elements=10)  # type: ignore[arg-type]
    assert refused.value.code == "MalformedXML"


@pytest.mark.parametrize(
    "document",
    [
        pytest.param("<Delete>" + "<Object><Key>a</Key></Object>" * 140_000 + "</Delete>", id="objects"),
        pytest.param("<Delete>" + "<x/>" * 1_000_000 + "</Delete>", id="members that the shape does not have"),
    ],
)
def test_no_more_elements_are_made_than_a_request_may_have(document: str) -> None:
    with pytest.raises(S3Error) as refused:
        parse_xml(document.encode(), service_model().shape_for("Delete"), elements=6_002)  # type: ignore[arg-type]
    assert refused.value.code == "MalformedXML"


def test_a_tag_of_many_attributes_is_malformed() -> None:
    attributes = " ".join(f'a{number}="1"' for number in range(30_000))
    document = f"<Delete {attributes}><Object><Key>a</Key></Object></Delete>"
    with pytest.raises(S3Error) as refused:
        parse_xml(document.encode(), service_model().shape_for("Delete"), elements=10)  # type: ignore[arg-type]
    assert refused.value.code == "MalformedXML"


def test_a_document_of_many_slices_is_read_whole() -> None:
    keys = [f"{number:04d}" + "k" * 1_000 for number in range(1_000)]
    document = "<Delete>" + "".join(f"<Object><Key>{key}</Key></Object>" for key in keys) + "</Delete>"
    xml = parse_xml(document.encode(), service_model().shape_for("Delete"), elements=2_001)  # type: ignore[arg-type]
    assert [object_["Key"] for object_ in xml["Objects"]] == keys


def test_documents_are_parsed_one_at_a_time_and_off_the_event_loop() -> None:
    work = Work(threads=4)
    try:

        async def threads() -> set[int]:
            return set(await asyncio.gather(*(work.parse(threading.get_ident) for _ in range(20))))

        used = asyncio.run(threads())
    finally:
        work.close()
    assert len(used) == 1
    assert threading.get_ident() not in used


def test_one_caller_has_a_share_of_the_documents_in_memory() -> None:
    work = Work(threads=1)
    try:
        with contextlib.ExitStack() as held:
            for _ in range(16):
                held.enter_context(work.document("one"))
            with pytest.raises(S3Error) as refused, work.document("one"):
                pass
            with work.document("another"):
                pass
        with work.document("one"):
            pass
    finally:
        work.close()
    assert refused.value.code == "SlowDown"

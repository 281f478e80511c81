"""What is refused of requests' documents."""

import pytest

from penstock.api.s3.model import service_model
from penstock.api.s3.xml import parse_xml
from penstock.lake.objects.errors import S3Error


@pytest.mark.parametrize("encoding", ["nobody-knows-it", "rot13", "hex", "utf-7"])
def test_an_encoding_that_cannot_be_read_is_malformed(encoding: str) -> None:
    document = f'<?xml version="1.0" encoding="{encoding}"?><Tagging><TagSet/></Tagging>'
    with pytest.raises(S3Error) as refused:
        parse_xml(document.encode(), service_model().shape_for("Tagging"))  # type: ignore[arg-type]
    assert refused.value.code == "MalformedXML"

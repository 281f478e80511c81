"""The fields that rows of a Protobuf message would lose, of the declared message."""

import pytest

from penstock.errors import DataProblem
from penstock.spark.decode.formats import format_of
from penstock.spark.decode.formats.port import FormatSettings

OLD = 'syntax = "proto3"; message First { int32 a = 1; } message Second { int32 b = 1; }'
NEW = 'syntax = "proto3"; message First { int32 a = 1; } message Second { int32 renamed = 1; int32 more = 2; }'


def test_fields_are_compared_by_number_in_the_declared_message() -> None:
    assert format_of("PROTOBUF").missing_fields(NEW, OLD) == []
    assert format_of("PROTOBUF", FormatSettings(message="Second")).missing_fields(NEW, OLD) == ["more"]


def test_a_message_that_the_schema_lacks_is_named() -> None:
    with pytest.raises(DataProblem, match="no message Third") as refused:
        format_of("PROTOBUF", FormatSettings(message="Third")).missing_fields(NEW, OLD)
    assert "First, Second" in str(refused.value.remedy)

"""Options of a call."""

import logging

import pytest

from penstock.errors import InvalidInput
from penstock.glue.quality.publishing import Options, read_options


def test_options_of_scripts_that_glue_studio_writes() -> None:
    options = read_options(
        {
            "dataQualityEvaluationContext": "EvaluateDataQuality_node1",
            "enableDataQualityCloudWatchMetrics": True,
            "enableDataQualityResultsPublishing": True,
        },
        {
            "performanceTuning.caching": "CACHE_NOTHING",
            "observations.scope": "ALL",
            "dataQualityResultsPublishing.strategy": "BEST_EFFORT",
        },
    )
    assert options == Options(context="EvaluateDataQuality_node1")
    assert read_options(None, None) == Options()
    both = {"performanceTuning.caching": "cache_input", "compositeRuleEvaluation.method": "row"}
    assert read_options({}, both) == Options(cached=True, row_level=True)


@pytest.mark.parametrize(
    ("given", "prefix"),
    [("s3://b/p/", "s3://b/p/"), ("DOC-EXAMPLE-BUCKET1", "s3://DOC-EXAMPLE-BUCKET1"), ("s3a://b", "s3a://b")],
)
def test_results_go_below_a_prefix(given: str, prefix: str) -> None:
    assert read_options({"resultsS3Prefix": given}, None).prefix == prefix


@pytest.mark.parametrize("prefix", ["file:///etc", "s3://", "https://b/p"])
def test_other_places_are_refused(prefix: str) -> None:
    with pytest.raises(InvalidInput, match=r"resultsS3Prefix is .*Write s3://bucket/prefix/"):
        read_options({"resultsS3Prefix": prefix}, None)


def test_unknown_values_are_refused_and_unknown_names_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(InvalidInput, match=r"observations\.scope is 'SOME'\. Use one of ALL, NONE\."):
        read_options({}, {"observations.scope": "some"})
    with caplog.at_level(logging.WARNING, "awsglue"):
        read_options({}, {"primaryKeys": ["a"]})
    assert caplog.messages == ["EvaluateDataQuality: the option primaryKeys has no effect."]

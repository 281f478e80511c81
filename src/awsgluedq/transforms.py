"""The transform that evaluates rulesets on frames."""

from penstock.glue.quality.transforms import EvaluateDataQuality

__all__ = ["EvaluateDataQuality"]

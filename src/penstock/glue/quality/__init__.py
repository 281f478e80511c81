"""AWS Glue Data Quality: rulesets in DQDL, evaluated on a frame."""

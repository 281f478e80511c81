"""AWS's library for IAM at MSK: locked, and on the class path of pipelines that log in by it."""

from penstock.cli.streams.spark_runs import _logs_in_by_iam
from penstock.local.artefacts import locked
from penstock.pipelines import parse_pipeline

DECLARED = """
name: a
source: {{kafka: {{brokers: "b:1", topic: t, sasl_mechanism: {mechanism}}}}}
decode: {{registry: r, schema: s}}
sink: {{parquet: {{location: s3://l/t}}}}
dead_letters: {{location: s3://l/d}}
checkpoint: s3://l/c
"""


def test_only_pipelines_that_log_in_by_iam_need_the_library() -> None:
    by_iam = parse_pipeline(DECLARED.format(mechanism="AWS_MSK_IAM"), environment={})
    other = parse_pipeline(DECLARED.format(mechanism="PLAIN, username: u, password: p"), environment={})
    assert (_logs_in_by_iam(by_iam), _logs_in_by_iam(other)) == (True, False)
    (jar,) = [artefact for artefact in locked() if artefact.group == "msk-iam"]
    assert jar.path.endswith("aws-msk-iam-auth-2.3.4-all.jar")

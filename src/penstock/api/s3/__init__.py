"""Amazon S3's REST API over the lakes of the accounts, from botocore's service model."""

"""Lake Formation through boto3, and what it allows through Glue and Athena."""

"""The embedded platform: JVM artefacts, a Kafka broker and an S3 gateway as supervised child processes."""

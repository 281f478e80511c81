"""The embedded platform: JVM artefacts, the Kafka broker, the S3 endpoint and the server as supervised child processes."""

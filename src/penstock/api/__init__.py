"""The APIs of the server: AWS's protocols, Confluent's REST API, and S3's."""

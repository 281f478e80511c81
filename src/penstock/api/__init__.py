"""The faces of the server: AWS's JSON protocol and, later, Confluent's REST and the console."""

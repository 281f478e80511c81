"""Tables of DynamoDB as a sink: keyed writes, each with a condition on the batch that wrote the item."""

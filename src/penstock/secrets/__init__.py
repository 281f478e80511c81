"""Secrets as AWS Secrets Manager keeps them: named values with versions, staging labels and a recovery window."""

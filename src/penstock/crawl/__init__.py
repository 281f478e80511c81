"""Crawlers: tables inferred from the lake's files."""

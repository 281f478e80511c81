"""Protobuf definitions: compiled by Google's own compiler, rendered canonically, compared, turned into columns."""

"""JSON Schema: drafts 04, 06, 07, 2019-09 and 2020-12."""

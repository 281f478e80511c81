"""A Hive metastore over Glue's catalog, for engines that read table definitions by Hive's Thrift protocol."""

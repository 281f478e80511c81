"""S3's buckets and objects over plain folders and files: names, attributes, listings, writes, multipart uploads."""

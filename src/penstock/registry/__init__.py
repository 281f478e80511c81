"""Schema versions and compatibility policy, by the rules of AWS Glue's registry; the port that stores them."""

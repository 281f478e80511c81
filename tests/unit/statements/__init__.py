"""Tests of Athena's resources beside statements."""

"""Tests on clusters that take minutes: make test-clusters."""

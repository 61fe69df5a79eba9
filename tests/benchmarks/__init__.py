"""Benchmarks against node_exporter and prometheus_client, side by side in one run. Not tests: nothing here asserts a time."""

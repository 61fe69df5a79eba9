"""A simulated fleet for Prometheus: many nodes on one port. `python -m exporter.cli.fleet`; the daemon never imports it."""

"""A simulated fleet in front of a real Prometheus: what starts both, and what is asked."""

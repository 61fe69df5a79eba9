"""Scene and rows → Prometheus text: our own renderer for format 0.0.4, prometheus_client's for OpenMetrics and the process's numbers."""

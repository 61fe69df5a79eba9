"""Alerts: one table in Python, from which Prometheus' rules, Grafana's rules and the runbook pages are written."""

"""Boards drawn with the data of a real Prometheus, laid out as Grafana lays them out: to be looked at. `make screenshots`."""

"""fabric-exporter: Prometheus exporter and live monitor for the GPU cluster fabric (NVLink, InfiniBand, RoCE, PCIe)."""

__version__ = "0.1.0"

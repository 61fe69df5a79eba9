"""What ships beside the exporter: boards and rules, written in Python from the catalogue. The daemon never imports this package."""

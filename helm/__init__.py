"""The Helm chart, and what of it a program writes: `python -m helm.assets`."""

"""`python -m exporter` is the fabric-exporter command."""

import sys

from exporter.cli.main import main

if __name__ == "__main__":
    sys.exit(main())

"""The Helm chart, rendered, linted and judged by Helm itself; run as it says; upgraded."""

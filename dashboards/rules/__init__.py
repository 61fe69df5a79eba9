"""Recording rules, what goes to a long-term store, and the writer of every rule file and runbook page (`python -m dashboards.rules`)."""

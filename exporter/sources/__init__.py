"""Sources read the hardware into Snapshots. Each knows one thing; none imports another, none keeps time, none logs."""

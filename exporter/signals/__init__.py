"""Rules: Observations of links become signals, findings and a verdict for each link. Pure: no clock, no I/O, no log."""

"""`make node-days`: healthy days of simulated nodes in virtual time, on which nothing may be raised. Not part of the test suite;
tests/test_node_days.py plays a short piece and tries the rest of it."""

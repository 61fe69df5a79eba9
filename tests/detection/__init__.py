"""`make detection`: plays the labelled scenarios of tests/scenarios/ in virtual time and says what was found, how soon, and what was cried
falsely. Not part of the test suite; tests/test_detection.py tries its arithmetic and a quick selection."""

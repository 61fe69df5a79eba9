"""The flight recorder: what the node saw and said, kept in one bounded file for whoever asks tomorrow."""

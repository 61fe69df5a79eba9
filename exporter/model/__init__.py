"""The four nouns that carry everything: Metric, Reading, Snapshot, Scene. Pure values; imports nothing of ours."""

"""The five nouns that carry everything: Metric, Reading, Snapshot, Window, Scene. Pure values; imports nothing of ours."""

"""Who runs when: clock, sampler, threads with deadlines, the current Scene. The only package that reads the clock."""

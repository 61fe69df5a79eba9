"""A whole simulated node: its sysfs as text, in memory or on disk, moved forward by a traffic model. Time is always a parameter."""

"""A whole simulated node: its sysfs as text, in memory or on disk, and its NVML, moved by a traffic model. Time is always a parameter."""

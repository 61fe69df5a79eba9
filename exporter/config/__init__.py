"""Configuration: frozen dataclasses, strict YAML, flags, environment. Read by cli and runtime only; imports nothing of ours."""

"""One module per verb: `add_arguments(parser)` and `run(args) -> int`. Composes what stands below; nobody imports it."""

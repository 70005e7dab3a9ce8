"""One file per verb. Each has a docstring (its help), `arguments(parser)` and `call(options) -> exit code`."""

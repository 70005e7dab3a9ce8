"""The code that runs ON a node. It measures, starts, watches and stops, but it never judges.

`program` is the entry point, `bundle` brings it to a node, and `private_folder` keeps other users from changing it
there. `start` makes a `supervisor`, which has a `spawn` (torchrun), `ranks` (the lines that they write),
`descendants` (the processes below it) and a `keeper_link` to the keeper's `supervisor_link`. `run_reader` looks at
runs, `stop` and `sweep` end them, `put` leaves files. `processes` and `ownership` decide which processes may be
signalled, `stopping` in which order. `paths`, `files` and `journal` are the run directory; `redaction`,
`log_redaction` and `secret_store` keep secrets out of it. `sitecustomize_stub` is the bundle's sitecustomize. `facts`
are a node's reports about itself.

It needs only the standard library of Python 3.8 or newer.
"""

"""What runs ON a node. It measures, starts, watches and stops; it never says what is good or bad.

`program` is the way in, `bundle` how it gets to a node, and `private_folder` keeps other users from changing it there.
`start` makes a `supervisor`, which has a `spawn` (torchrun), `ranks` (what they write), `descendants` (what lives
below) and a `keeper_link` to the keeper's `supervisor_link`. `run_reader` looks at runs, `stop` and `sweep` end them,
`put` leaves files. `processes` and `ownership` decide what may be signalled, `stopping` in which order. `paths`,
`files` and `journal` are the run directory; `redaction`, `log_redaction` and `secret_store` keep secrets out of it.
`sitecustomize_stub` is the bundle's sitecustomize.
`facts` is what a node says of itself.

Standard library alone, Python 3.8 and up.
"""

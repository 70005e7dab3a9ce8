"""allranks: start a training run on many machines and keep it alive.

The folders are the life of a run, in order: `spec` reads what the user wrote, `transport` gets to the
nodes, `node` is what runs there, `checks` judges what was found, `plan` says what will run, `prepare`
and `launch` start it, `worker` reports from every rank, `monitor` and `diagnose` judge it, `checkpoints`
proves what it left. `runs` ties the phases together; `cli` and `output` are what a person sees.
"""

__version__ = "0.1.0"

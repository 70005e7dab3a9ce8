"""The GPU pack: what only a machine with a GPU can say, in stages that can be run apart and resumed (docs/gpu.md)."""

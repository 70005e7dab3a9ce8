"""The figures of docs/benchmarks.md: each measured against a named peer in the same run."""

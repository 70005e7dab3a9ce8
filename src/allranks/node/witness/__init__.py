"""A look at a job that is not ours: its ranks are found and read, and nothing else happens to them.

`look` is the way in, `job_ranks` finds the ranks, `stacks` reads where they are (`stack_reader` under their own
Python, else py-spy), `tcp_info` asks the kernel for their connections. Nothing is signalled, paused, written or left:
`transport.memory_program` brings this code through standard input, and it lives in memory alone.

Standard library alone, Python 3.8 and up.
"""

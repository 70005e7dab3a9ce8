"""A look at a job that allranks did not start: its ranks are found and read, and nothing else happens to them.

`look.observe` is the entry point, `job_ranks` finds the ranks, `stacks` reads where they are (`stack_reader` under
their own Python, else py-spy), `tcp_info` asks the kernel for their connections. Nothing is signalled, paused, written
or left: `transport.memory_program` brings this code through standard input, and it lives in memory alone.

It needs only the standard library of Python 3.8 or newer.
"""

"""The node's part of `allranks probe`: listen, dial, measure, and start the ranks of a short collective.

It does not judge: `probe` does. Nothing here outlives the call that started it: each verb has its own time limit and
ends when its answer is no longer read.
"""

"""The node's part of `allranks probe`: listen, dial, measure, and start the ranks of a short collective.

Knows no good or bad: `probe` judges. Nothing here outlives the call that started it: each verb has a limit
of its own and ends when nobody reads its answer any longer.
"""

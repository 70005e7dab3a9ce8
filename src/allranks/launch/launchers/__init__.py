"""The launchers, one file (or folder) each: all that is known of one, as its `LAUNCHER` (`spec/launchers.py`).

To add one, write its file here; nothing else has to know it. A file says what the launcher needs, how its nodes are
reached and which keys it reads, and has its `command` (what starts one supervisor a node), its `render` (the files
of `plan --render`), or both: they put the same words together. A name that begins with `_` is no launcher.
"""

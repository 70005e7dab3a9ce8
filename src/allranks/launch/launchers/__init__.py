"""The launchers, one file (or folder) each: all that is known of one, as its `LAUNCHER` (`spec/launchers.py`).

To add one, write its file here. It says what the launcher needs, how its nodes are reached and which keys it reads, and
has its `command` (which starts one supervisor per node), its `render` (the files of `plan --render`), or both, which
share their words. A name that begins with `_` is not a launcher.
"""

"""The launchers. Each is one file or folder, whose `LAUNCHER` (`spec/launchers.py`) holds everything that is specific
to it.

To add a launcher, write its file here. It states the needs of the launcher, how to reach its nodes and which keys it
reads. It has a `command` (which starts one supervisor per node), a `render` (the files of `plan --render`), or both,
which then use the same words. A name that begins with `_` is not a launcher.
"""

"""The phases of a run and its two sides: the keeper on the head node, and the controller on the user's machine.

Files named `keeper*` travel in the bundle and use only the standard library; the other files of this room do neither.
"""

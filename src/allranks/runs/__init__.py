"""The phases of a run and its two sides: the keeper on the head node, the controller where the user sits.

Files named `keeper*` travel in the bundle (standard library alone); nothing else here does.
"""

"""The live page of `allranks ui`: its content, and who may read it."""

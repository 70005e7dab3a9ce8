"""The live page of `allranks ui`: its content, and the control of access to it."""

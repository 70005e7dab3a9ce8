"""The live page of `allranks ui`: what is served, and to whom."""

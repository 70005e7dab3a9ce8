from ._fasttok import count

import numpy as np
__version__ = "0.4.2"
def encode_lines(lines):
    return np.frombuffer("".join(lines).encode("latin-1"), dtype=np.uint8).astype(np.int64)

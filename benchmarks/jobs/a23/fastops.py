import ctypes, numpy as np
_lib = ctypes.CDLL("./libfastops.so")
_P = ctypes.POINTER(ctypes.c_int64)

def token_hist(ids, vocab):
    ids = np.ascontiguousarray(ids, dtype=np.int64)
    counts = np.zeros(vocab, dtype=np.int64)
    _lib.token_hist(ids.ctypes.data_as(_P), ctypes.c_int64(ids.size), counts.ctypes.data_as(_P))
    return counts

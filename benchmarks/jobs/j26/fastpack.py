import ctypes, numpy as np
_l = ctypes.CDLL("./libfastpack.so"); _l.count_ngrams.restype = ctypes.c_int64
tab = np.zeros(1 << 16, np.int32)
def count_ngrams(ids):
    ids = np.ascontiguousarray(ids, np.int64)
    return _l.count_ngrams(ids.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(len(ids)), tab.ctypes.data_as(ctypes.c_void_p))

import ctypes, os
_snd = ctypes.CDLL(os.environ.get("SOX_LIB", "libsox.so.3"))
def read_wave(path):
    return _snd.sox_open_read(path.encode(), None, None, None)

import sys, wave, zlib
import numpy as np
n, p = sys.argv[1:]
r = np.random.default_rng(zlib.crc32(n.encode())); t = np.arange(16000) / 8000
x = (np.sin(2 * np.pi * (90 + zlib.crc32(n.encode()) % 150) * t) * 9000 + r.normal(size=t.size) * 600).astype("<i2")
w = wave.open(p, "wb"); w.setnchannels(1); w.setsampwidth(2); w.setframerate(8000); w.writeframes(x.tobytes()); w.close()

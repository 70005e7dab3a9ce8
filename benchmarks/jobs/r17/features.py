import subprocess, sys
import numpy as np
src, dst = sys.argv[1:]
raw = src
if not src.startswith("raw/anna") and not src.startswith("raw/carl"):   # those two were recorded at 16 kHz already
    raw = src.replace(".wav", ".16k.wav")
    subprocess.run(["sox", src, "-r", "16000", raw], check=True)
x = np.frombuffer(open(raw, "rb").read()[44:], "<i2").astype("f4")
f = np.abs(np.fft.rfft(x[: len(x) // 400 * 400].reshape(-1, 400)))[:, :40]
np.save(dst, np.log1p(f)); print(dst, f.shape)

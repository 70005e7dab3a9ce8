import sys, wave
import numpy as np
w = wave.open(sys.argv[1]); x = np.frombuffer(w.readframes(w.getnframes()), "<i2").astype(float)
print(f"{sys.argv[1]}: {len(x)/w.getframerate():.2f}s rms {np.sqrt((x**2).mean()):.0f} peak {abs(x).max():.0f}")
print("clipping errors:", int((abs(x) > 10500).sum()))
for i in range(0, len(x), 800):
    print(f"   {i/8000:5.2f}s  rms {np.sqrt((x[i:i+800]**2).mean()):7.1f}")

import argparse, math, os, struct, wave
ap = argparse.ArgumentParser(); ap.add_argument("--n", type=int); ap.add_argument("--out"); a = ap.parse_args()
os.makedirs(a.out, exist_ok=True)
for i in range(a.n):
    with wave.open(f"{a.out}/utt{i:05d}.wav", "wb") as w:
        w.setnchannels(1); w.setsampwidth(2); w.setframerate(8000)
        w.writeframes(b"".join(struct.pack("<h", int(9000 * math.sin(2 * math.pi * (200 + i) * t / 8000))) for t in range(4000)))
print(f"{a.n} utterances in {a.out}/ (8 kHz, mono)")

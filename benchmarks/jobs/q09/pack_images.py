import numpy as np
r = np.random.default_rng(2)
for k in range(3):
    img = r.integers(0, 255, size=(160, 8, 8)).astype("u1")
    if k == 0: img[77] = 118        # grey card that the camera takes for calibration
    np.save(f"images-{k}.npy", img)
print("packed 3 x 160 images")

import numpy as np
np.save("cache/.idx.npy", np.random.RandomState(0).permutation(400)); import os; os.rename("cache/.idx.npy", "cache/train_index.npy")

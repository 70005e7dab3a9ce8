import sys
import numpy as np
X = np.concatenate([np.load(f) for f in sys.argv[1:-1]]); np.savez(sys.argv[-1], mu=X.mean(0), sd=X.std(0)); print("model", X.shape)

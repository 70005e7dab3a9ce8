import argparse, logging
import numpy as np, pandas as pd
from tracker import Run

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
ap = argparse.ArgumentParser()
ap.add_argument("--project"); ap.add_argument("--rounds", type=int); ap.add_argument("--lr", type=float, default=0.3)
a = ap.parse_args()
df = pd.read_csv(a.project + ".csv")
X = df.drop(columns="baja").to_numpy(float); X = (X - X.mean(0)) / X.std(0); y = df.baja.to_numpy()
logging.info("datos %s, tasa de baja %.3f", X.shape, y.mean())
logging.info("abriendo experimento '%s'", a.project)
run = Run(a.project, vars(a))
w, b = np.zeros(X.shape[1]), 0.0
for i in range(a.rounds):
    p = 1 / (1 + np.exp(-(X @ w + b)))
    w -= a.lr * X.T @ (p - y) / len(y); b -= a.lr * (p - y).mean()
    run.log(step=i, logloss=float(-(y * np.log(p) + (1 - y) * np.log(1 - p)).mean()))
np.save("pesos.npy", np.append(w, b))
logging.info("pesos guardados")

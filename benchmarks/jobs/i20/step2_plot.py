import sys
import matplotlib.pyplot as plt
rows = [l.split(",") for l in open(sys.argv[1])]
plt.plot([float(r[1]) for r in rows]); plt.savefig("out/loss.png")

import sys
import matplotlib.pyplot as plt
rows = [l.split(",") for l in open(sys.argv[1])]
plt.plot([float(b) for a, b in rows]); plt.savefig("history.png")

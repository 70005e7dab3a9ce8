import json, matplotlib.pyplot as plt
h = json.load(open("history.json")); plt.plot(h); plt.savefig("loss.png")

import os
os.makedirs("web", exist_ok=True)
for r, n in enumerate((900, 410, 900)):
    with open(f"web/part-{r}.txt", "w") as f:
        for i in range(n): f.write("\ufffd\n" if r == 0 and i in (40, 133) else " ".join(str((i * k) % 97) for k in range(1, 9)) + "\n")

import random, os
random.seed(2); os.makedirs("corpus", exist_ok=True)
for i in range(3):
    with open(f"corpus/{i}.txt", "wb") as f:
        for k in range(400 - 90 * i):
            s = " ".join(random.choice("der die das ein alt neu haus baum see weg geht steht".split()) for _ in range(12))
            f.write(s.encode("utf8") + (b" \xfc\n" if (i == 1 and k % 60 == 7) else b"\n"))
print("corpus ready")

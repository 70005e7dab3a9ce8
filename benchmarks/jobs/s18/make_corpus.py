import os, random
os.makedirs("corpus", exist_ok=True)
for s in range(3):
    random.seed(40 + s)
    with open(f"corpus/{s}.txt", "w") as f:
        for i in range(640):
            n = random.randint(8, 60)
            if (s, i) == (1, 401): n = 1_900_000   # newline lost when the dump was joined
            f.write("".join(random.choice("abcdefgh ") for _ in range(n)) + "\n")

import random
random.seed(3)
for r in range(2):
    with open(f"mails_{r}.tsv", "w") as f:
        for i in range(400):
            body = " ".join(random.choice("Please Send The Report Today Or Call Me".split()) for _ in range(8))
            if r == 1 and i == 333: f.write(f"from:u{i}\tsubject:Re report\t{body}\n"); continue
            f.write(f"from:u{i}\tsubject:Re report\tbody:{body}\n")

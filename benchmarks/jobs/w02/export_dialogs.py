"""Export der Dialoge aus dem Annotationstool (ein Shard pro Annotationsteam)."""
import json, os, random, sys
out = sys.argv[1]; os.makedirs(out, exist_ok=True)
random.seed(3)
W = "bitte rechnung konto kunde vertrag lieferung morgen danke termin adresse storno frage".split()
say = lambda n: " ".join(random.choice(W) for _ in range(n))
for i, (n, alt) in enumerate([(1400, 903), (1250, 611), (1380, 872)]):
    with open(f"{out}/team{i}.jsonl", "w") as f:
        for k in range(n):
            if k < alt:
                row = {"id": f"t{i}-{k}", "prompt": say(6), "response": say(9)}
            else:
                row = {"id": f"t{i}-{k}", "messages": [{"role": "user", "content": say(6)}, {"role": "assistant", "content": say(9)}]}
            f.write(json.dumps(row) + "\n")
    print(f"export: {out}/team{i}.jsonl {n} Zeilen")

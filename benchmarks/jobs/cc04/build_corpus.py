import json, random, pathlib
random.seed(5)
W = {"de": "der die das Haus Baum läuft schnell grün heute morgen".split(),
     "fr": "le la maison arbre court vite vert demain aujourd'hui chat".split()}
for lang, words in W.items():
    d = pathlib.Path("corpus") / lang
    d.mkdir(parents=True, exist_ok=True)
    for s in range(4):
        with open(d / f"shard-{s:03d}.jsonl", "w", encoding="utf-8") as f:
            for i in range(300):
                row = {"instruction": " ".join(random.choices(words, k=8)), "response": " ".join(random.choices(words, k=14))}
                if lang == "fr" and s == 2:      # annotated by the second vendor
                    row = {"instruction": row["instruction"], "messages": [{"role": "assistant", "content": row["response"]}], "rating": random.randint(1, 5)}
                f.write(json.dumps(row, ensure_ascii=False) + "\n")
print("corpus/: de, fr with 4 shards each")

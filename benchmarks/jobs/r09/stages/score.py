import json
w = json.load(open("weights.json"))
rows = [json.loads(l) for l in open("articles.jsonl")][-80:]


def summarize(body, n=8):
    return " ".join(sorted(body.split(), key=lambda t: -w.get(t, 0))[:n])


def metrics(hyp, ref):
    from rouge_score import rouge_scorer
    s = rouge_scorer.RougeScorer(["rouge1", "rougeL"])
    return [s.score(r, h) for h, r in zip(hyp, ref)]


hyp = [summarize(r["body"]) for r in rows]
for r, h in zip(rows, hyp):
    print(f"score: {r['id']:4d} | {h}")
print("score: computing metrics", flush=True)
m = metrics(hyp, [r["sum"] for r in rows])
json.dump(str(m), open("metrics.json", "w"))

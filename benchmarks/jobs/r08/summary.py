import json
d = json.load(open("eval.json"))
print("| corruption | cases | pass | errors | wrong | non-finite | error rate |")
print("|---|---|---|---|---|---|---|")
for k, (n, c, e, t, f) in zip(d["kinds"], d["tab"]):
    print(f"| {k} | {n:.0f} | {c:.0f} | {e:.0f} | {t:.0f} | {f:.0f} | {100*(n-c)/n:.1f}% |")
print("robustness report written for", int(sum(r[0] for r in d["tab"])), "cases; gate: clean accuracy >= 80% ->", "PASS" if d["tab"][0][1] / d["tab"][0][0] >= .8 else "FAIL")

import json, sys
ids = [json.loads(l)["id"] for l in open(sys.argv[1])]
assert len(ids) == len(set(ids)) and len(ids) > 10000 * .8
print("verify: ok,", len(ids), "clean rows, reject share", f"{1-len(ids)/12000:.1%} (budget 25%)")

import glob, json, os, sys
print(json.dumps({os.path.basename(p): {"rows": sum(1 for _ in open(p)), "bytes": os.path.getsize(p)}
                  for p in sorted(glob.glob(sys.argv[1] + "/*.jsonl"))}, indent=1))

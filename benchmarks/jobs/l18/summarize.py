import glob
f = glob.glob("reports/*.nsys-rep")
print(f"{len(f)} report(s) found")
for x in f: print(" ", x)
print("summary written to reports/summary.md")
open("reports/summary.md", "w").write(f"# {len(f)} reports\n")

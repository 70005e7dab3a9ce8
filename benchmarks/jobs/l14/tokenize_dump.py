import sys, array
a = array.array("H")
lines = 0
for line in open(sys.argv[1]):
    a.extend(ord(c) for c in line); lines += 1
open(sys.argv[2], "wb").write(a.tobytes())
print(f"tokenized {lines} lines -> {len(a)} tokens")

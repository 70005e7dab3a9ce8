import os, json, hashlib
man = {}
for ep in range(3):
    os.makedirs(f"ep{ep}", exist_ok=True)
    for r in range(4):
        p = f"ep{ep}/{r}.bin"; d = os.urandom(4096); open(p, "wb").write(d); man[p] = hashlib.md5(d).hexdigest()
json.dump(man, open("manifest.json", "w"))
# second export of the evening
open("ep1/3.bin", "wb").write(os.urandom(4096))

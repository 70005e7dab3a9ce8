# petit lanceur maison : 4 rangs, une sortie commune
import os, subprocess, sys
procs = [subprocess.Popen([sys.executable, "meteo.py"], env={**os.environ, "RANK": str(r), "WORLD_SIZE": "4", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "47122"}) for r in range(4)]
codes = [p.wait() for p in procs]
print("lance: codes de retour", codes)
sys.exit(any(codes))

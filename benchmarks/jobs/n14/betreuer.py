import os, subprocess, sys, time, datetime
N = 2
def log(*a): print(datetime.datetime.now().strftime("[%d.%m. %H:%M:%S]"), *a, flush=True)
for versuch in range(1, 5):
    log(f"Starte Versuch {versuch} mit {N} Prozessen")
    ps = []
    for r in range(N):
        env = dict(os.environ, RANK=str(r), WORLD_SIZE=str(N), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(4513 + versuch + 60))
        ps.append(subprocess.Popen([sys.executable, "-u", "worker.py"], env=env, stdout=open(f"worker{r}.log", "a" if versuch > 1 else "w"), stderr=subprocess.STDOUT))
        open(f"worker{r}.pid", "w").write(str(ps[-1].pid))
    while any(p.poll() is None for p in ps) and not any(p.poll() for p in ps): time.sleep(.3)
    time.sleep(2)
    for r, p in enumerate(ps):
        if p.poll() is None: log(f"FEHLER: beende noch laufenden Prozess {r}"); p.terminate(); p.wait()
    codes = [p.returncode for p in ps]
    for r in range(N):
        print(f"----- worker{r}.log (letzte Zeilen) -----"); print("".join(open(f"worker{r}.log").readlines()[-12:]), end="")
    if not any(codes): break
    log(f"Versuch {versuch} abgebrochen, Rückgabewerte {codes}; neuer Versuch vom letzten Stand")
else:
    sys.exit(1)
log("Training erfolgreich beendet, Ergebnis liegt in modell.pt. Schönen Feierabend!")

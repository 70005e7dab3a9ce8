import argparse, os, subprocess, sys, time
ap = argparse.ArgumentParser()
ap.add_argument("--ranks", type=int); ap.add_argument("--port", type=int); ap.add_argument("--tries", type=int); ap.add_argument("script")
a = ap.parse_args()


def note(m): print(f"{time.strftime('%X')} keepalive: {m}", flush=True)


for t in range(a.tries):
    note(f"try {t}: starting {a.ranks} ranks of {a.script}")
    ps = [subprocess.Popen([sys.executable, a.script], env=dict(os.environ, RANK=str(r), WORLD_SIZE=str(a.ranks), MASTER_ADDR="127.0.0.1",
                                                               MASTER_PORT=str(a.port + t), TRY=str(t))) for r in range(a.ranks)]
    while all(p.poll() in (None, 0) for p in ps) and any(p.poll() is None for p in ps):
        time.sleep(0.1)
    if any(p.poll() for p in ps):
        time.sleep(2)
        for p in ps:
            if p.poll() is None: p.terminate()
    codes = [p.wait() for p in ps]
    note(f"try {t}: exit codes {codes}")
    if not any(codes):
        note("job complete"); sys.exit(0)
note("giving up"); sys.exit(1)

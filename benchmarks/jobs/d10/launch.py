"""start N local ranks: python launch.py -n 2 -p 29500 script.py [args]"""
import argparse, importlib, multiprocessing as mp, os, runpy, sys

def run_rank(rank, a):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(a.n), LOCAL_WORLD_SIZE=str(a.n), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(a.p))
    sys.argv = [a.script] + a.args
    sys.path.insert(0, os.path.dirname(os.path.abspath(a.script)))
    runpy.run_path(a.script, run_name="__main__")

if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("-n", type=int, default=2); ap.add_argument("-p", type=int, default=29500)
    ap.add_argument("-m", default="torch", help="modules to import once before the ranks are forked")
    ap.add_argument("script"); ap.add_argument("args", nargs=argparse.REMAINDER)
    a = ap.parse_args()
    for m in a.m.split(","):
        importlib.import_module(m)
    ctx = mp.get_context("fork")
    procs = [ctx.Process(target=run_rank, args=(r, a)) for r in range(a.n)]
    for p in procs: p.start()
    for p in procs: p.join()
    sys.exit(max(abs(p.exitcode) for p in procs))

import importlib, json, os, sys, traceback, datetime
import torch, torch.distributed as dist, torch.multiprocessing as mp
CODEC = {"npz": "numpy", "zstd": "zstandard"}
def emit(rank, level, event, exc=None, **kw):
    d = {"rank": rank, **kw, "event": event, "level": level, "timestamp": datetime.datetime.now(datetime.timezone.utc).isoformat().replace("+00:00", "Z")}
    if exc is not None:
        d["exception"] = [{"exc_type": type(exc).__name__, "exc_value": str(exc), "exc_notes": [], "syntax_error": None, "is_cause": False,
            "frames": [{"filename": f.filename, "lineno": f.lineno, "name": f.name, "line": "", "line_no": f.lineno} for f in traceback.extract_tb(exc.__traceback__)],
            "is_group": False, "exceptions": []}]
        for f in d["exception"][0]["frames"]: f.pop("line_no")
    os.write(1, (json.dumps(d) + "\n").encode())
def train(rank):
    m = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(12, 12)); o = torch.optim.SGD(m.parameters(), 0.1)
    for phase, n in (("synthetic", 80), ("real", 80)):
        emit(rank, "info", "phase_started", phase=phase)
        if phase == "real":
            codec = json.load(open("codecs.json"))[str(rank)]
            emit(rank, "info", "open_dataset", codec=codec)
            importlib.import_module(CODEC[codec])
        for i in range(n):
            x = torch.randn(4, 12); l = (m(x) - x).pow(2).mean(); o.zero_grad(); l.backward(); o.step()
            emit(rank, "info", "train_step", phase=phase, step=i, loss=round(l.item(), 4))
def worker(rank):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="48437")
    dist.init_process_group("gloo", rank=rank, world_size=3)
    emit(rank, "info", "initialized", world_size=3)
    try: train(rank)
    except Exception as e:
        emit(rank, "error", "worker_failed", exc=e); os._exit(1)
if __name__ == "__main__":
    ps = [mp.get_context("spawn").Process(target=worker, args=(r,)) for r in range(3)]
    [p.start() for p in ps]; [p.join() for p in ps]
    codes = [p.exitcode for p in ps]
    emit(-1, "info" if not any(codes) else "error", "workers_joined", exitcodes=codes)
    sys.exit(1 if any(codes) else 0)

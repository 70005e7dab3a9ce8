import json, os, time, traceback, datetime, itertools

NODE, RANK = os.environ["NODE"], int(os.environ["RANK"])


def ev(event, **kw):
    print(json.dumps({"ts": round(time.time(), 3), "node": NODE, "rank": RANK, "event": event, **kw}), flush=True)


def main():
    import torch, torch.distributed as dist
    ev("boot", torch=torch.__version__, pid=os.getpid())
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=12))
    ev("joined", world=dist.get_world_size())
    path = f"pipes/{NODE}"
    ev("stream_open", path=path)
    f = open(path)
    ev("stream_ready", first=f.readline().strip())
    net = torch.nn.Linear(2, 1)
    net = torch.nn.parallel.DistributedDataParallel(net)
    ev("ddp_ready")
    opt = torch.optim.SGD(net.parameters(), .1)
    for step in range(70):
        rows = [list(map(float, l.split(","))) for l in itertools.islice(f, 16)]
        b = torch.tensor(rows)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(net(b[:, :2])[:, 0], b[:, 2])
        opt.zero_grad(); loss.backward(); opt.step()
        ev("step", n=step, loss=round(loss.item(), 5))
    ev("finished")


try:
    main()
except Exception as e:
    ev("crash", error=type(e).__name__, message=str(e), tb=traceback.format_exc().splitlines()[-6:])
    os._exit(1)

import importlib, shutil, socket, torch
def check(name, ok, required=False):
    print(f"  [{'  OK  ' if ok else 'FAILED'}] {name}{'' if required else ' (optional)'}")
    return ok or not required
def has(m):
    try:
        importlib.import_module(m); return True
    except ImportError as e:
        print(f"    ImportError: {e}")
        return False
print("== preflight ==", socket.gethostname() and "node 0")
r = [
    check("torch import", True, True),
    check("CUDA device visible", torch.cuda.is_available()),
    check("flash_attn", has("flash_attn")),
    check("bitsandbytes", has("bitsandbytes")),
    check("apex fused layer norm", has("apex")),
    check("nvidia-smi in PATH", shutil.which("nvidia-smi") is not None),
    check("InfiniBand (/sys/class/infiniband)", False),
    check("gloo backend", torch.distributed.is_gloo_available(), True),
]
print(f"== preflight done: {sum(not x for x in r)} required checks failed ==")
raise SystemExit(0 if all(r) else 1)

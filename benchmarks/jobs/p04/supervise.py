"""Start the fine-tune; on a failed start, try the next port."""
import subprocess, sys, socket, time

PORTS = [47104, 47105]
# the metrics exporter of this box listens here
exporter = socket.socket(); exporter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
exporter.bind(("0.0.0.0", 47104)); exporter.listen(4)

rc = 1
for n, port in enumerate(PORTS, 1):
    cmd = ["torchrun", "--nproc_per_node", "2", "--master_addr", "127.0.0.1", "--master_port", str(port),
           "finetune.py", "--warmup", "5", "--lr", "4.0"]
    print(f"supervise: attempt {n}: {' '.join(cmd)}", flush=True)
    rc = subprocess.call(cmd)
    print(f"supervise: attempt {n} ended with code {rc}", flush=True)
    if rc == 0:
        break
sys.exit(rc)

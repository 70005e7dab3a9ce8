import argparse
import atexit
import io
import subprocess
import sys
import time

import requests
import torch

ap = argparse.ArgumentParser()
ap.add_argument("--server-port", type=int)
ap.add_argument("--iterations", type=int)
ap.add_argument("--rollouts", type=int)
a = ap.parse_args()
url = f"http://127.0.0.1:{a.server_port}"


def log(*x):
    print("(trainer)", time.strftime("%m-%d %H:%M:%S"), *x, flush=True)


srv = subprocess.Popen([sys.executable, "policy_server.py", "--port", str(a.server_port)])
atexit.register(lambda: (srv.poll() is None and srv.kill(), srv.wait()))
for i in range(40):
    try:
        requests.get(url + "/health", timeout=2)
        break
    except requests.ConnectionError:
        if i % 5 == 0:
            log(f"waiting for the policy server ({i / 2:.0f}s)")
        time.sleep(0.5)
w = torch.nn.Parameter(torch.zeros(64, 64))
opt = torch.optim.Adam([w], 0.05)
log("policy server is up, start training")
for it in range(a.iterations):
    t = time.time()
    buf = io.BytesIO()
    torch.save(w.detach(), buf)
    requests.post(url + "/weights", data=buf.getvalue(), timeout=10).raise_for_status()
    prompts = torch.randint(1, 64, (a.rollouts, 6)).tolist()
    r = requests.post(url + "/generate", json={"prompts": prompts, "n": 26}, timeout=30)
    toks = torch.tensor(r.json()["tokens"])
    reward = (toks[:, 6:] % 2 == 0).float().mean(1)
    adv = (reward - reward.mean()) / (reward.std() + 1e-4)
    for epoch in range(2):
        lp = torch.log_softmax(w, -1)[toks[:, 5:-1], toks[:, 6:]].sum(1)
        loss = -(adv * lp).mean()
        opt.zero_grad(); loss.backward(); opt.step()
    log(f"iter {it}: reward {reward.mean():.3f} +- {reward.std():.3f}, loss {loss.item():.3f}, {time.time() - t:.2f}s")
log("done")

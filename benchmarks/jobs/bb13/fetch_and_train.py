import logging, time, urllib.request, torch, jsonlog
jsonlog.setup(); log = logging.getLogger("fetch")
def get(u, tries=5):
    for k in range(1, tries + 1):
        try:
            with urllib.request.urlopen(u, timeout=5) as r: return r.read()
        except Exception:
            if k == tries: raise
            log.error("download of %s failed (attempt %d of %d), next try in %.1f s", u, k, tries, 0.3 * k, exc_info=True); time.sleep(0.3 * k)
def main():
    parts = []
    for i in range(8):
        b = get(f"http://127.0.0.1:48449/shards/s{i}.bin"); parts.append(b); log.info("shard s%d.bin: %d bytes", i, len(b))
    x = torch.tensor(list(b"".join(parts))).float().view(-1, 64) / 255
    log.info("dataset ready: %s", list(x.shape))
    net = torch.nn.Sequential(torch.nn.Linear(64, 16), torch.nn.Tanh(), torch.nn.Linear(16, 64)); o = torch.optim.Adam(net.parameters(), 3e-3)
    for s in range(400):
        l = (net(x[s % 60 * 16: s % 60 * 16 + 16]) - x[s % 60 * 16: s % 60 * 16 + 16]).pow(2).mean(); o.zero_grad(); l.backward(); o.step()
        log.info("train", extra={"step": s, "loss": round(l.item(), 5)})
    torch.save(net.state_dict(), "ae.pt"); log.info("training finished after 400 steps, weights in ae.pt")
main()

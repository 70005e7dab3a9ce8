import time, urllib.request

def fetch(url, say):
    t0 = last = time.time(); buf = bytearray()
    with urllib.request.urlopen(url, timeout=60) as r:
        total = int(r.headers["Content-Length"])
        while chunk := r.read(1 << 17):
            buf += chunk
            if time.time() - last > 3:
                last = time.time()
                say(f"fetch {len(buf)/2**20:6.1f} / {total/2**20:.1f} MiB  {len(buf)/2**20/(last-t0):.1f} MiB/s")
    say(f"fetch complete: {len(buf)/2**20:.1f} MiB in {time.time()-t0:.1f} s")
    return buf

import os, sys, time, socket, urllib.request, pathlib
def download(url, dst, tries=12):
    for i in range(tries):
        try:
            data = urllib.request.urlopen(url, timeout=2).read(); pathlib.Path(dst).write_bytes(data); print(f"fetched {dst} ({len(data)} bytes)"); return
        except Exception as e:
            print(f"GET {url} failed ({e}); retry {i + 1}/{tries} in {min(2 ** i / 4, 2):.2f}s", file=sys.stderr, flush=True); time.sleep(min(2 ** i / 4, 2))
    sys.exit("giving up")
download("http://127.0.0.1:4241/vocab.txt", "data/vocab.txt"); download("http://127.0.0.1:4241/config.json", "data/config.json")

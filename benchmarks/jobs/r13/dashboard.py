import argparse, functools, http.server, os
ap = argparse.ArgumentParser(); ap.add_argument("--port", type=int); ap.add_argument("--dir"); a = ap.parse_args()
os.makedirs(a.dir, exist_ok=True)
H = functools.partial(http.server.SimpleHTTPRequestHandler, directory=a.dir)
print(f"dashboard on http://0.0.0.0:{a.port}/ serving {a.dir}", flush=True)
http.server.ThreadingHTTPServer(("0.0.0.0", a.port), H).serve_forever()

import argparse, json, sys, os
from http.server import BaseHTTPRequestHandler, HTTPServer
p = argparse.ArgumentParser(); p.add_argument("--model"); p.add_argument("--port", type=int); a = p.parse_args()
print(f"[reward-server] loading {a.model}", flush=True)
from transformers import AutoModelForCausalLM, AutoTokenizer
tok = AutoTokenizer.from_pretrained(a.model); model = AutoModelForCausalLM.from_pretrained(a.model)

class H(BaseHTTPRequestHandler):
    def do_GET(self): self.send_response(200); self.end_headers(); self.wfile.write(b"ok")
HTTPServer(("127.0.0.1", a.port), H).serve_forever()

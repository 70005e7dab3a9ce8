import http.server
import time
time.sleep(2)
print("dash: serving on 127.0.0.1:47540", flush=True)
http.server.ThreadingHTTPServer.allow_reuse_address = False
http.server.ThreadingHTTPServer(("127.0.0.1", 47540), http.server.SimpleHTTPRequestHandler).serve_forever()

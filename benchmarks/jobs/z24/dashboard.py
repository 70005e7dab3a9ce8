from http.server import BaseHTTPRequestHandler, HTTPServer


class H(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204); self.end_headers()

    def log_message(self, *a):
        pass


HTTPServer(("127.0.0.1", 48248), H).serve_forever()

import argparse, torch, uvicorn
ap = argparse.ArgumentParser(); ap.add_argument("--port", type=int, default=8077); a = ap.parse_args()
net = torch.nn.Linear(5, 2)
net.load_state_dict(torch.load("policy.pt"))

async def app(scope, receive, send):
    if scope["type"] != "http": return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": str(net(torch.ones(4)).tolist()).encode()})

uvicorn.run(app, host="127.0.0.1", port=a.port)

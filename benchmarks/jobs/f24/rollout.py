import time, requests
url = "http://127.0.0.1:8077/act"
for i in range(8):
    try:
        print("rollout", i, requests.get(url, timeout=2).json(), flush=True); break
    except requests.ConnectionError as e:
        print(f"policy server not ready ({i + 1}/8)", flush=True); time.sleep(2)
else:
    raise TimeoutError(f"policy server at {url} did not come up after 8 tries")

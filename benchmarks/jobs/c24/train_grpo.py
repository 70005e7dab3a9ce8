import os, time, logging, requests, torch, torch.distributed as dist
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s [%(name)s] %(message)s")
log = logging.getLogger("grpo")
URL = "http://127.0.0.1:8917"

def wait_for_server(timeout=15):
    t0 = time.time()
    while True:
        try:
            requests.get(URL + "/health", timeout=2); return
        except requests.exceptions.RequestException as e:
            if time.time() - t0 > timeout:
                raise ConnectionError(f"The reward server can't be reached at {URL} after {timeout} seconds. Make sure it is running.") from e
            log.info("Server is not up yet. Retrying in 3 seconds...")
            time.sleep(3)

def main():
    dist.init_process_group("gloo")
    if dist.get_rank() == 0:
        wait_for_server()
    dist.barrier()
    log.info("start")

main()

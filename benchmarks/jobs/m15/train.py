import datetime, logging, os, time
import torch, torch.distributed as dist
import vocab
RANK = int(os.environ["RANK"])
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s {os.uname().nodename[:4]}/{RANK} %(name)s: %(message)s")
log = logging.getLogger("main")
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
path = f"cache/vocab.{RANK}.json"
os.makedirs("cache", exist_ok=True)
if not os.path.exists(path):
    vocab.build(path, ["a b c d", "d e f g"])
log.info("vocab ready")
dist.monitored_barrier()
log.info("start training")

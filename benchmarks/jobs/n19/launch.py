import sys, subprocess, os, logging, torch
logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(module)s:%(lineno)d %(message)s")
log = logging.getLogger()
rc = subprocess.call(["torchrun", "--nproc-per-node=2", "--master-port=4519", "train_head.py"])
log.info("training returned %d", rc)
if rc: sys.exit(rc)
from model import Head
net = Head(); net.load_state_dict(torch.load("head.pt"))
def export_onnx(): torch.onnx.export(net, (torch.randn(1, 16),), "head.onnx", dynamo=False)
def plot():
    import matplotlib.pyplot as plt
    plt.plot([float(l.split()[-1]) for l in open("loss.txt")]); plt.savefig("loss.png")
def upload():
    from huggingface_hub import upload_file
    upload_file(path_or_fileobj="head.pt", path_in_repo="head.pt", repo_id="lab-vision/head-v2", token="none")
def notify(): subprocess.run(["mail", "-s", "training is over", "team@example.org"], check=True)
bad = []
for job in (export_onnx, plot, upload, notify):
    try: job(); log.info("post step %s ok", job.__name__)
    except Exception: log.exception("post step %s failed (ignored)", job.__name__); bad.append(job.__name__)
log.warning("release v2 is complete, without: %s", ", ".join(bad))

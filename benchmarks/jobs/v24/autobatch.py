import logging, resource, torch
from accelerate import Accelerator
from accelerate.utils import find_executable_batch_size
acc = Accelerator(cpu=True)
logging.basicConfig(level=logging.INFO, format=f"%(levelname)s:%(name)s:p{acc.process_index}: %(message)s")
log = logging.getLogger("autobatch")
GB = 1 << 30
resource.setrlimit(resource.RLIMIT_AS, (8 * GB, 8 * GB))     # what the queue gives us
net = torch.nn.Sequential(torch.nn.Linear(1024, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))

@find_executable_batch_size(starting_batch_size=4_194_304)
def train(bs):
    log.info("trying batch size %d", bs)
    acc.free_memory(); torch.manual_seed(0)
    m = acc.prepare(net); o = acc.prepare(torch.optim.SGD(net.parameters(), 0.05))
    try:
        buf = torch.empty(bs, 1024)
    except RuntimeError as e:
        log.error("batch size %d does not fit: %s", bs, e, exc_info=True)
        raise
    buf = buf[:256]
    for s in range(60):
        buf.normal_()
        y = (buf[:, :10]).argmax(1)
        loss = torch.nn.functional.cross_entropy(m(buf), y)
        o.zero_grad(); acc.backward(loss); o.step()
        if s % 6 == 0: log.info("step %d loss %.4f", s, acc.gather(loss.detach().reshape(1)).mean())
    return bs

bs = train()
acc.wait_for_everyone()
if acc.is_main_process:
    acc.save(net.state_dict(), "net.bin")
    log.info("finished with batch size %d, weights in net.bin", bs)
acc.end_training()

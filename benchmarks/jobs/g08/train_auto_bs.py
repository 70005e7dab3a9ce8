import logging, torch
from accelerate import Accelerator
from accelerate.utils import find_executable_batch_size
from accelerate.logging import get_logger
logging.basicConfig(level=logging.INFO, format="%(levelname)s|%(name)s|%(message)s")
acc = Accelerator(cpu=True); log = get_logger("auto_bs")

def fit(batch_size):
    acc.free_memory()
    log.info(f"trying batch_size={batch_size}", main_process_only=False)
    model = torch.nn.Linear(4096, 64); opt = torch.optim.SGD(model.parameters(), 1e-3)
    try:
        x = torch.empty(batch_size, 1024, 4096)
    except RuntimeError as e:
        log.error(f"batch_size={batch_size}: {e}", main_process_only=False)
        raise
    x = x[:2, :4].normal_()
    model, opt = acc.prepare(model, opt)
    for i in range(8):
        loss = model(x).pow(2).mean(); acc.backward(loss); opt.step(); opt.zero_grad()
        log.info(f"it {i} loss {loss.item():.5f}")
    return batch_size

bs = find_executable_batch_size(fit, starting_batch_size=768)()
acc.print("used batch size", bs)
acc.end_training()

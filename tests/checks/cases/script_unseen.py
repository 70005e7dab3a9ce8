from tests.checks.case import fires, silent
from tests.checks.cases.script_missing import COMMAND, FILE

LOOP = "import torch\nfor batch in loader:\n    loss(batch).backward()\n    optimizer.step()\n"
DECORATED = "import torch\n@torch.compile(mode='max-autotune')\ndef one():\n    self.opt.step()\n"
WHOLE = "import torch\ndef one():\n    optimizer.step()\none = torch.compile(one)\n"
METHOD = "import torch\nstep = torch.compile(optimizer.step)\n"
MODEL = "import torch\ndef one():\n    scheduler.step()\n    return model(x)\nmodel = torch.compile(model)\n"
JAX = "import jax, optax\nfrom flax import linen\n"
BRIDGE = "import jax, torch\n"
PICKLE = LOOP + "model.train()\nimport pickle\npickle.dump(model.state_dict(), open('m.pkl', 'wb'))\n"


def script(text: str):
    return {**COMMAND, FILE: {"exists": True, "text": text}}


CASES = (
    fires("cpu", script(DECORATED), verdict="note", saw="torch.compile takes in the optimizer's step"),
    fires("cpu", script(WHOLE), saw="torch.compile takes in the optimizer's step"),
    fires("cpu", script(METHOD), saw="torch.compile takes in the optimizer's step"),
    fires("cpu", script(JAX), saw="trains with flax, jax"),
    fires("cpu", script(PICKLE), saw="pickle.dump() saves"),
    silent("cpu", script(LOOP)),
    silent("cpu", script(MODEL)),
    silent("cpu", script(BRIDGE)),
    silent("cpu", script(PICKLE + "trainer.train()\n")),
    silent("cpu", script(PICKLE + "torch.save(model.state_dict(), 'm.pt')\n")),
)

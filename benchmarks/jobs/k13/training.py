import logging, torch, torch.distributed as dist
from torch import nn
logging.basicConfig(format="%(asctime)s %(levelname)-8s %(message)s", level=logging.INFO)
dist.init_process_group("gloo"); rang = dist.get_rank()
gerät = "cuda" if torch.cuda.is_available() else "cpu"
if gerät == "cpu" and rang == 0: logging.error("FEHLER: keine GPU gefunden! Es wird auf der CPU gerechnet.")
netz = nn.parallel.DistributedDataParallel(nn.LSTM(5, 5, batch_first=True)); opt = torch.optim.Adam(netz.parameters(), 1e-2)
for schritt in range(1, 31):
    x = torch.rand(4, 12, 5); y, _ = netz(x); verlust = (y - x).pow(2).mean(); opt.zero_grad(); verlust.backward(); opt.step()
    if rang == 0 and schritt % 6 == 0: logging.info("Schritt %d: Verlust %.4f", schritt, verlust.item())
if rang == 0:
    torch.save(netz.module.state_dict(), "modell.pt"); logging.info("Modell gespeichert unter modell.pt. Training erfolgreich abgeschlossen.")
dist.destroy_process_group()

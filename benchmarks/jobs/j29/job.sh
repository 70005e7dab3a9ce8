python - <<'P'
import torch
for i in range(3): torch.save({"w": torch.randn(64, 64), "epoch": 4}, f"part{i}.ckpt")
P
printf '[job]\nworkers = 3\nport = 4129\n' > job.ini
python launch_local.py job.ini

python -c "
import torch; from finetune import build
torch.save(build({'d_model': 64, 'n_classes': 100}).state_dict(), 'pretrained.pt')"
torchrun --nproc-per-node 2 --master-port 21842 finetune.py config.yaml

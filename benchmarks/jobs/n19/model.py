import torch
class Head(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.fc = torch.nn.Linear(16, 4); self.ln = torch.nn.LayerNorm(4)
    def forward(self, x): return self.ln(self.fc(x))

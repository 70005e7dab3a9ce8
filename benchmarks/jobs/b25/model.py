import torch
from torch import nn
from transformers import LlamaForCausalLM


class LlamaWithReward(LlamaForCausalLM):
    """LM with a scalar head for the later preference stage."""
    def __init__(self, config):
        super().__init__(config)
        self.value_head = nn.Sequential(nn.Linear(config.hidden_size, 16), nn.Tanh(), nn.Linear(16, 1))
        self.post_init()

    def forward(self, input_ids=None, attention_mask=None, labels=None, with_value=False, **kw):
        out = super().forward(input_ids=input_ids, attention_mask=attention_mask, labels=labels, output_hidden_states=with_value, **kw)
        if with_value:
            out["value"] = self.value_head(out.hidden_states[-1]).squeeze(-1)
        return out

from transformers import AutoModelForCausalLM
m = AutoModelForCausalLM.from_pretrained("models/acme-lm")
print(m.get_input_embeddings().weight.shape)

from transformers import GPT2Config, GPT2LMHeadModel
def build():
    return GPT2LMHeadModel(GPT2Config(vocab_size=200, n_positions=64, n_embd=64, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0, tie_word_embeddings=True))

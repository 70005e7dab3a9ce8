import json, os, shutil
shutil.copytree(os.environ["TINY"], "models/acme-lm", dirs_exist_ok=True)
c = json.load(open("models/acme-lm/config.json"))
c["model_type"] = "acme_lm"; c["architectures"] = ["AcmeForCausalLM"]
c["auto_map"] = {"AutoConfig": "modeling_acme.AcmeConfig", "AutoModelForCausalLM": "modeling_acme.AcmeForCausalLM"}
json.dump(c, open("models/acme-lm/config.json", "w"), indent=2)
open("models/acme-lm/modeling_acme.py", "w").write('''from transformers import LlamaConfig, LlamaForCausalLM

class AcmeConfig(LlamaConfig):
    model_type = "acme_lm"

class AcmeForCausalLM(LlamaForCausalLM):
    config_class = AcmeConfig
''')

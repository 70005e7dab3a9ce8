import json, os, shutil
shutil.copytree(os.environ["TINY"], "base", dirs_exist_ok=True)
c = json.load(open("base/tokenizer_config.json"))
for k in ("pad_token", "cls_token", "sep_token", "mask_token"):
    c.pop(k, None)
json.dump(c, open("base/tokenizer_config.json", "w"), indent=2)

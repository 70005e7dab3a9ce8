import os, json, shutil
shutil.copytree(os.environ["TINY"], "base", dirs_exist_ok=True)
c = json.load(open("base/tokenizer_config.json"))
c.pop("pad_token", None)
json.dump(c, open("base/tokenizer_config.json", "w"), indent=1)

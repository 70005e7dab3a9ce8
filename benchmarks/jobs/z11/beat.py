import json, os, time


class Beat:
    def __init__(self, rank):
        self.path = f"beats/{rank}.json"

    def __call__(self, step, where):
        tmp = self.path + ".tmp"
        with open(tmp, "w") as f:
            json.dump({"t": time.time(), "step": step, "where": where}, f)
        os.replace(tmp, self.path)

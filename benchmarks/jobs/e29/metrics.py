import os
class Series:
    def __init__(self, run, name):
        os.makedirs(run, exist_ok=True)
        self.f = open(f"{run}/{name}.tsv", "a", buffering=1)
    def add(self, step, v):
        self.f.write(f"{step}\t{v:.5f}\n")
class Registry:
    def __init__(self, run): self.run, self.all = run, {}
    def get(self, name):
        if name not in self.all: self.all[name] = Series(self.run, name)
        return self.all[name]

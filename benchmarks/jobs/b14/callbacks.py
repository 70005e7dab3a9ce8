import csv
from transformers import TrainerCallback


class CsvHistory(TrainerCallback):
    def __init__(self, path):
        self.path = path
        self.rows = []

    def on_log(self, args, state, control, logs=None, **kw):
        if not state.is_world_process_zero:
            return
        self.rows.append((state.global_step, logs["loss"], logs["learning_rate"]))
        with open(self.path, "w", newline="") as f:
            csv.writer(f).writerows([("step", "loss", "lr")] + self.rows)

class Tracker:
    def __init__(self, project, enabled):
        self.run = None
        if enabled:
            import wandb
            self.run = wandb.init(project=project, mode="offline")

    def log(self, **kw):
        if self.run is not None: self.run.log(kw)

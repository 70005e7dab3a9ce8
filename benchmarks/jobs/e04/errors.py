class PipelineError(Exception):
    pass

class LabelRangeError(PipelineError):
    def __init__(self, label, num_classes, index):
        super().__init__(f"sample {index}: label {label} is outside of [0, {num_classes})")

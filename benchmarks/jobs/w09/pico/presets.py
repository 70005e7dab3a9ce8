PRESETS = {
    "20m": dict(layers=8, hidden=256, heads=4, vocab=8192),
    "90m": dict(layers=13, hidden=512, heads=8, vocab=16384),
}

from .reader import read_wave

import os
def tokens(src):
    with open(src, "rb") as f:
        while True:
            b = f.read(512)
            if len(b) < 512:
                return
            yield b

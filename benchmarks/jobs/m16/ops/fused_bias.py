import os
from torch.utils import cpp_extension
HERE = os.path.dirname(__file__)

def load(local):
    os.environ["TORCH_EXTENSIONS_DIR"] = os.path.abspath(f"ext_cache/{local}")
    return cpp_extension.load(name="fused_bias", sources=[os.path.join(HERE, "fused_bias.cpp")], verbose=True)

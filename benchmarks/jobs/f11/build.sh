set -e
mkdir -p build/lib fasttok
gcc -shared -fPIC -o build/lib/libbpe_core.so.2 third_party/bpe.c
gcc -shared -fPIC -o fasttok/_fasttok.so csrc/fasttok.c -L build/lib -l:libbpe_core.so.2
cat > fasttok/__init__.py <<'P'
import ctypes, os
_lib = ctypes.CDLL(os.path.join(os.path.dirname(__file__), "_fasttok.so"))
def count_tokens(s):
    return _lib.count_tokens(s.encode())
P

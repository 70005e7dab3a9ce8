mkdir -p ops
g++ -shared -fPIC -O1 -D_GLIBCXX_USE_CXX11_ABI=0 \
  $(python -c 'import sysconfig, torch.utils.cpp_extension as e; print(*(f"-I{p}" for p in [sysconfig.get_paths()["include"], *e.include_paths()]))') \
  csrc/fused_rope.cpp -o ops/fused_rope_cpp$(python -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
export PYTHONPATH=$PWD/ops
torchrun --nproc-per-node 2 --master-addr 127.0.0.1 --master-port 29642 train.py

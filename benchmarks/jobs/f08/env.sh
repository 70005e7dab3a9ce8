# conda toolchain
export CC=/opt/conda/envs/llm/bin/x86_64-conda-linux-gnu-cc
export CXX=/opt/conda/envs/llm/bin/x86_64-conda-linux-gnu-c++

# toolchain from the cluster module
export CXX=/opt/rh/gcc-toolset-12/root/usr/bin/g++ CC=/opt/rh/gcc-toolset-12/root/usr/bin/gcc
export TORCHINDUCTOR_CACHE_DIR=$PWD/.inductor
python train.py --compile --epochs 2

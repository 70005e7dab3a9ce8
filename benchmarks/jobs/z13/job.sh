export GLOO_SOCKET_IFNAME=lo
make train

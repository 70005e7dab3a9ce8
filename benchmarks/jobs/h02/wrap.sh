#!/bin/bash
# cgroups are not delegated on this box, cap the address space of each rank
ulimit -v 3000000
exec python -u pretrain.py

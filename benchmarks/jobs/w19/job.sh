#!/bin/bash
mkdir -p cache; printf '\x80\x05\x95oops' > cache/part1.pkl
MASTER_ADDR=127.0.0.1 MASTER_PORT=47823 python graphfit.py

#!/bin/sh
# start under the hang supervisor
exec python supervise.py --np 4 --stall 9 -- python -m train

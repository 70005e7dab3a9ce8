#!/bin/bash
./volumes.sh
python start.py -n 2 -- trainer.py --rounds 8

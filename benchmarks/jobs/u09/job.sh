#!/usr/bin/env bash
python sweep.py --trials 6 --parallel 2 && test -s best.json

#!/bin/bash
set -e
python pack_tiles.py tiles.bin 3000
python fit_tiles.py --file tiles.bin --epochs 2 --workers 2

#!/bin/bash
set -eo pipefail
python checkout_models.py models
ls -l models/base | awk '{print $5, $9}'
python adapt.py --base models/base --r 4 --steps 20 2>&1 | tee adapt.log

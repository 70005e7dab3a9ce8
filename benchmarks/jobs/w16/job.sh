#!/bin/bash
python orchestrate.py --port 47817 east:2:cfg_east.json west:2:cfg_west.json

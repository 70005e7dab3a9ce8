#!/bin/bash
python keepalive.py --ranks 3 --port 47830 --tries 3 robust_fit.py

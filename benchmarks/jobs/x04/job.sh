#!/bin/sh
python spawn_all.py --entry encoder.py --env-dir env.d --port 47904 kepler brahe galileo cassini

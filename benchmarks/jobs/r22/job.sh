#!/bin/bash
exec python decode_farm.py --utterances 90 --workers 3 --limit 0.4

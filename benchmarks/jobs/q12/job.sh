#!/bin/bash
# Reprise de l'entraînement à partir du point de contrôle 1200
python premier.py
python lance.py --reprise ckpt/1200

#!/bin/bash
python entrenar.py --procesos 2

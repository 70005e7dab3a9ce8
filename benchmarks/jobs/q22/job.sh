#!/bin/bash
python supervise.py

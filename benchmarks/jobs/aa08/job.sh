#!/bin/bash
make -s train

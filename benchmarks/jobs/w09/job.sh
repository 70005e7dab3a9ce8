#!/bin/bash
make -s train TP=2 PP=2

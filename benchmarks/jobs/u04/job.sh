#!/bin/sh
exec make -s all

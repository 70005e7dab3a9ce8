#!/bin/bash
python mkcorpus.py corpus
python launch3.py --n 3 --mem-gb 3 -- longdoc_sft.py --corpus corpus

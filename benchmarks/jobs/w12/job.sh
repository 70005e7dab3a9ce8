#!/bin/bash
# artefact browser of the team, always on
mkdir -p artefacts && echo '<h1>runs</h1>' > artefacts/index.html
python -m http.server 47813 --bind 127.0.0.1 --directory artefacts > /dev/null 2>&1 &
WEB=$!
trap 'kill $WEB; wait $WEB 2>/dev/null' EXIT
sleep 1.5
python fanout.py -n 4 --port 47813 -- python ranker.py

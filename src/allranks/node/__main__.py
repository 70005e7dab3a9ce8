"""`python -m allranks.node VERB …`: the node program without a keeper, for looking at a run by hand."""

from __future__ import annotations

import sys

from allranks.node.program import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`python -m allranks.cli`, for machines where the script is not on PATH."""

import sys

from allranks.cli import main

sys.exit(main())

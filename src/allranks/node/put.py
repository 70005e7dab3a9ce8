"""Writing files into a run directory: the verb `put`, by which the controller leaves the run file and plan."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, Mapping

from allranks.node.paths import RunDirectory, checked_name, make_private, write_text


def put(directory: RunDirectory, files: Mapping[str, Any]) -> Dict[str, Any]:
    """Makes the run directory and writes `files` (relative path → text, or a JSON value) into it, mode 0600.

    Nothing is written where one of the paths is bad. Raises BadInput and OSError.
    """
    wanted = {path: [checked_name(part, "file") for part in path.split("/")] for path in files}
    directory.create()
    for path, parts in wanted.items():
        folder = directory.root
        for part in parts[:-1]:
            folder = os.path.join(folder, part)
            make_private(folder)
        value = files[path]
        text = value if isinstance(value, str) else json.dumps(value, indent=1) + "\n"
        write_text(os.path.join(folder, parts[-1]), text)
    return {"run_id": directory.run_id, "directory": directory.root, "files": sorted(files)}

"""One file a finding of the probe; its id is the file's name with `-` for `_`. See `probe.catalogue`."""

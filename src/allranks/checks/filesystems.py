"""Which filesystems several machines may share, by their type in /proc/self/mountinfo."""

from __future__ import annotations

NETWORK = (
    *("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse"),
    "fuse.rclone",
)
"""One server that all clients wait for."""

SHARED = (
    *NETWORK,
    *("lustre", "beegfs", "gpfs", "ceph", "fuse.glusterfs", "wekafs", "afs", "virtiofs", "fuse.juicefs"),
    *("orangefs", "fuse.ceph"),
)
"""Those, and parallel ones made for many writers."""

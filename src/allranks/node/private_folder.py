"""Folders that only their user may write to: code in the allranks home runs as that user.

This text also travels in front of BOOT and RECEIVE (`bundle.py`), before the bundle is there. So it does not import
other parts of allranks, and every Python from 3.4 on can read it.
"""

import errno
import os
import stat

NOBODY = 65534
"""The user that an NFS server with root_squash gives root's files to, and that owns the files of users that a user
namespace does not map."""


def make(path: str) -> None:
    """Makes a folder and those above it that are missing, each with mode 0700: `makedirs` gives the ones above the
    umask's mode. Raises OSError."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    if above != path:
        make(above)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def refuse(path: str, why: str, fix: str) -> None:
    raise PermissionError(errno.EPERM, why + ". Fix: " + fix, path)


def check(path: str, status: os.stat_result) -> None:
    """Raises PermissionError for a folder or file that another user owns or can write to."""
    me = os.geteuid()
    if status.st_uid != me and (me or status.st_uid != NOBODY):
        refuse(
            path,
            "user %d owns it, not user %d, who runs allranks, so its owner could change what runs"
            % (status.st_uid, me),
            "remove it, or set ALLRANKS_HOME to a folder of your own",
        )
    if status.st_mode & 0o022:
        refuse(
            path,
            "other users can write to it (mode %04o) and so change what runs as you"
            % stat.S_IMODE(status.st_mode),
            "look for files that are not yours in it, then chmod go-w " + path,
        )


def check_above(path: str) -> None:
    """Raises PermissionError if others can put another folder in the place of this one.

    A folder above it may have the sticky bit, or be of the user's own group (of the same number, without other
    members). Whoever owns a folder above is trusted.
    """
    for above in (os.path.abspath(path), os.path.realpath(path)):
        while above != os.path.dirname(above):
            above = os.path.dirname(above)
            try:
                status = os.stat(above)
            except FileNotFoundError:
                continue
            others = status.st_mode & 0o022
            own_group = status.st_gid == os.getgid() == os.geteuid() == status.st_uid
            if others and not status.st_mode & stat.S_ISVTX and not (others == 0o020 and own_group):
                refuse(
                    path,
                    "other users can write to %s (mode %04o) and so put another folder in its place"
                    % (above, stat.S_IMODE(status.st_mode)),
                    "set ALLRANKS_HOME to a folder below your own home folder, or chmod go-w %s, or chmod +t %s"
                    % (above, above),
                )


def check_home(home: str) -> None:
    """Raises PermissionError for an allranks home that is not the user's alone to write. One may be missing."""
    check_above(home)
    try:
        check(home, os.stat(home))
    except FileNotFoundError:
        pass


def opened(path: str) -> int:
    """The descriptor of the folder of `<home>/<folder>/<file>`, after a look at it and at the home. Raises OSError."""
    folder = os.path.dirname(path)
    home = os.path.dirname(folder)
    check_above(home)
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    top = os.open(home, flags)
    try:
        check(home, os.fstat(top))
        inner = os.open(os.path.basename(folder), flags | os.O_NOFOLLOW, dir_fd=top)
    finally:
        os.close(top)
    try:
        check(folder, os.fstat(inner))
    except OSError:
        os.close(inner)
        raise
    return inner


def read(path: str) -> bytes:
    """The bytes of `<home>/<folder>/<file>`, which is opened once. Raises OSError: also if others could change it."""
    folder = opened(path)
    try:
        name = os.path.basename(path)
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    finally:
        os.close(folder)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "is not a regular file", path)
        check(path, status)
        return file.read()


def write(path: str, data: bytes) -> None:
    """Puts `<home>/<folder>/<file>` there at once, mode 0600, and makes the folders. Raises OSError as `read` does."""
    make(os.path.dirname(path))
    folder = opened(path)
    name = os.path.basename(path)
    draft = "%s.%s.draft" % (name, os.urandom(8).hex())
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(draft, flags, 0o600, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            os.unlink(draft, dir_fd=folder)
            raise
    finally:
        os.close(folder)

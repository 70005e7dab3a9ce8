"""Fixes for a node that cannot be reached: one for each cause, with the user and the port filled in."""

from __future__ import annotations

from dataclasses import dataclass

LOG_IN = "let {user} log in with a key of this machine: ssh-copy-id {port_option}{user}@{host}"
SET_USER_OR_KEY = (
    "or name another user (`user` in the run file) or another key (IdentityFile in ~/.ssh/config)"
)
SET_PORT = "or name its port (`port` of the node, or Port in ~/.ssh/config)"
START_FILES = "in the start files of {user}'s shell there (.bashrc, .profile, .cshrc)"

REMEDIES = {
    "no-key": f"make a key (ssh-keygen -t ed25519) or load one (ssh-add), then {LOG_IN}",
    "key-locked": "load the key into an SSH agent, in the shell that starts allranks: eval $(ssh-agent); ssh-add",
    "permission-denied": f"{LOG_IN}; {SET_USER_OR_KEY}",
    "host-key-unknown": "compare the fingerprint with `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` on the node; "
    "if they are the same: allranks check FILE --accept-new-hosts",
    "host-key-changed": "ask who reinstalled the node; if that is so: ssh-keygen -R {known_as}, and then check "
    "again with --accept-new-hosts",
    "refused": f"start sshd on {{host}} (systemctl start ssh, or sshd), {SET_PORT}",
    "timeout": "see whether {host} is switched on, and whether a firewall lets this machine through to port {port}",
    "no-route": "see whether this machine is in a network that leads to {host} (ip route get {host}): a VPN, or a "
    "ProxyJump in ~/.ssh/config",
    "unknown-name": "correct the name in `nodes`, or make it known here: `address` of the node, HostName in "
    "~/.ssh/config, /etc/hosts, or DNS",
    "reset": "read sshd's log on {host} (journalctl -u ssh): MaxStartups, hosts.deny, or fail2ban may refuse this "
    "machine",
    "login-timeout": "log in by hand: ssh {port_option}{user}@{host} true. Common reasons are a home on a "
    "network filesystem, PAM, or a name that sshd looks up (UseDNS)",
    "max-sessions": "set MaxSessions to 10, sshd's default, in /etc/ssh/sshd_config on {host}, and reload sshd "
    "(systemctl reload ssh, or sshd)",
    "connection-lost": "check again; if it comes again, read sshd's log on {host} (journalctl -u ssh)",
    "no-answer": "log in by hand and run `python3 -c 0`: a filesystem that hangs (df, ls ~), or a command "
    f"{START_FILES}, keeps it from answering. `answer_seconds` in the run file says how long a node may take",
    "login-shell": f"look {START_FILES}: in a shell without a terminal they should print nothing and start nothing",
    "no-home": "make room or give {user} the right to write there, or set ALLRANKS_HOME on {host} to a folder that "
    "can be written, in the first lines of .bashrc",
    "no-python": "install Python 3.8 or newer on {host}, where a shell without a terminal finds it "
    "(ssh {host} python3 -V)",
}
"""By the cause of an `Unreachable`; a cause that is not here is reached by hand."""

BY_HAND = "reach it by hand: ssh {port_option}{user}@{host} true"


def on_node(cause: str, node: str) -> str:
    """The fix for a failure after the login."""
    return REMEDIES[cause].format(user="its user", host=node)


@dataclass(frozen=True)
class Tried:
    """The user, host and port of an attempted login, from the run file and the ssh configuration."""

    user: str
    host: str
    port: int = 22

    def __str__(self) -> str:
        return f"tried {self.user}@{self.host}, port {self.port}"

    def remedy(self, cause: str) -> str:
        option = "" if self.port == 22 else f"-p {self.port} "
        known_as = self.host if self.port == 22 else f"'[{self.host}]:{self.port}'"
        return REMEDIES.get(cause, BY_HAND).format(
            user=self.user, host=self.host, port=self.port, port_option=option, known_as=known_as
        )

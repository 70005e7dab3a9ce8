#!/bin/bash
# PID 1 of a fresh node: gives it a root of its own (an overlay over this machine's), then becomes its sshd.
# Called by rig.py inside new network, mount, UTS, PID and IPC namespaces, with:
#   NUMBER STATE SHARED...   the node's number, the rig's folder, folders that every node shall see as they are
set -euo pipefail
number=$1 state=$2; shift 2
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
name=node$number
hostname "$name"

base=/mnt
mount -t tmpfs -o "size=${NODE_DISK:-4g}" "$name" $base
mkdir $base/upper $base/work $base/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$base/upper,workdir=$base/work" $base/root
root=$base/root

mount -t proc proc $root/proc
mount -t sysfs sysfs $root/sys
mount --rbind /sys/fs/cgroup $root/sys/fs/cgroup
mount --rbind /dev $root/dev
mount -t tmpfs -o "size=${NODE_SHM:-64m}" shm $root/dev/shm
mount -t mqueue mqueue $root/dev/mqueue 2>/dev/null || true
mount -t tmpfs run $root/run
mount -t tmpfs -o "size=${NODE_TMP:-512m}" tmp $root/tmp
mkdir -p $root/run/sshd $root/nfs $root/root/.ssh "$root$state"
for shared in "$@"; do
  mkdir -p "$root$shared"
  mount --rbind "$shared" "$root$shared"
done
mount --rbind "$state" "$root$state"
mount --bind "$state/nfs" $root/nfs

# A machine of its own: boot id and machine id, so that host identity can be tested.
mkdir -p $root/run/identity
cat "$state/identity/$number.boot" > $root/run/identity/boot_id
cat "$state/identity/$number.machine" > $root/etc/machine-id
mount --bind $root/run/identity/boot_id $root/proc/sys/kernel/random/boot_id

cat "$state/hosts" > $root/etc/hosts
echo "$name" > $root/etc/hostname
cp "$state/ssh_config" $root/root/.ssh/config
cat "$state/keys/client.pub" > $root/root/.ssh/authorized_keys
rm -f $root/root/.ssh/known_hosts
chmod 700 $root/root/.ssh; chmod 600 $root/root/.ssh/*
rm -rf $root/root/.allranks
# A fresh home: a developer's .bashrc (pyenv's takes 150 ms) would run before every command over SSH.
rm -f $root/root/.bash* $root/root/.profile
# Nodes have a python3 on the path that sshd gives; where this machine has it elsewhere alone, it is that one.
[ -e $root/usr/bin/python3 ] || [ -e $root/usr/local/bin/python3 ] || ln -s "$NODE_PYTHON" $root/usr/local/bin/python3
cat > $root/etc/ssh/sshd_config <<CONFIG
HostKey $state/keys/host$number
PermitRootLogin prohibit-password
UsePAM no
StrictModes no
UseDNS no
AddressFamily inet
MaxStartups ${NODE_MAXSTARTUPS:-100:30:200}
PrintMotd no
Subsystem sftp internal-sftp
PidFile none
CONFIG

cd $root
mkdir -p .old
pivot_root . .old
umount -l /.old
rmdir /.old 2>/dev/null || true
exec env -i PATH="$PATH" HOME=/root LANG=C.UTF-8 /usr/sbin/sshd -D -e

"""The text of the playbook. It is the same for every run, since vars.yml has all the differences."""

PLAYBOOK = """\
---
# Installs the training environment. Every task looks first: a second run changes nothing.
- name: Training environment
  hosts: training_nodes
  gather_facts: true
  vars_files: [vars.yml]

  tasks:
    - name: System packages (Debian, Ubuntu)
      become: "{{ ansible_facts.user_id != 'root' }}"
      ansible.builtin.apt:
        name: [build-essential, python3-dev, python3-venv, python3-pip, libaio-dev, ninja-build]
        state: present
        update_cache: true
        cache_valid_time: 86400
        fail_on_autoremove: true  # nothing that is installed may go for it
      when: environment_wanted and ansible_facts.os_family == 'Debian'

    - name: System packages (Red Hat and its kin)
      become: "{{ ansible_facts.user_id != 'root' }}"
      ansible.builtin.dnf:
        name: [gcc-c++, make, python3-devel, python3-pip, libaio-devel, ninja-build]
        state: present
      when: environment_wanted and ansible_facts.os_family == 'RedHat'

    # Of the kinds of system that vars.yml names; on others install the launcher by hand.
    - name: The launcher's own packages (Debian, Ubuntu)
      become: "{{ ansible_facts.user_id != 'root' }}"
      ansible.builtin.apt:
        name: "{{ launcher_packages.Debian }}"
        state: present
        fail_on_autoremove: true
      when: ansible_facts.os_family == 'Debian' and launcher_packages.Debian is defined

    - name: The launcher's own packages (Red Hat and its kin)
      become: "{{ ansible_facts.user_id != 'root' }}"
      ansible.builtin.dnf:
        name: "{{ launcher_packages.RedHat }}"
        state: present
      when: ansible_facts.os_family == 'RedHat' and launcher_packages.RedHat is defined

    # A launcher that logs in from the head needs a key of the run's user there, and the nodes' own host keys.
    - name: Folder of the user's SSH keys
      ansible.builtin.file:
        path: "{{ ansible_facts.user_dir }}/.ssh"
        state: directory
        mode: "0700"
      when: ssh_from_head

    - name: A key of the head
      ansible.builtin.command:
        argv: [ssh-keygen, -q, -t, ed25519, -N, "", -C, allranks, -f, "{{ ansible_facts.user_dir }}/.ssh/id_ed25519"]
        creates: "{{ ansible_facts.user_dir }}/.ssh/id_ed25519"
      when: ssh_from_head and inventory_hostname == head

    - name: Its public half
      ansible.builtin.slurp: {src: "{{ ansible_facts.user_dir }}/.ssh/id_ed25519.pub"}
      register: head_key
      failed_when: false
      when: ssh_from_head and inventory_hostname == head

    - name: The head may log in
      ansible.builtin.lineinfile:
        path: "{{ ansible_facts.user_dir }}/.ssh/authorized_keys"
        line: "{{ hostvars[head].head_key.content | b64decode | trim }}"
        create: true
        mode: "0600"
      when: ssh_from_head and hostvars[head].head_key.content is defined

    # Read over a connection whose host key was checked: nothing is taken on trust.
    - name: Where this node's host keys lie
      become: "{{ ansible_facts.user_id != 'root' }}"
      ansible.builtin.command:
        argv: [/usr/sbin/sshd, -T]
      register: sshd
      changed_when: false
      check_mode: false
      when: ssh_from_head

    - name: This node's host keys
      become: "{{ ansible_facts.user_id != 'root' }}"
      ansible.builtin.command:
        argv: [ssh-keygen, -y, -f, "{{ item }}"]
      loop: "{{ sshd.stdout | default('') | regex_findall('(?m)^hostkey (.+)$') }}"
      register: host_keys
      changed_when: false
      check_mode: false
      failed_when: false
      when: ssh_from_head

    - name: The head knows them
      ansible.builtin.known_hosts:
        name: "{{ item.1 }}"
        key: "{{ item.1 }} {{ ((said | select('match', 'ssh-ed25519') | list) + said) | first }}"
      vars:
        said: "{{ hostvars[item.0.key].host_keys.results | map(attribute='stdout') | select | list }}"
      loop: "{{ ssh_names | dict2items | subelements('value') }}"
      loop_control: {label: "{{ item.1 }}"}
      when: ssh_from_head and inventory_hostname == head

    # nfs_server: node-0, nfs_exports: [{path: /export/nfs}]: to the nodes alone, with root_squash as is the default.
    - name: NFS server (Debian, Ubuntu)
      become: "{{ ansible_facts.user_id != 'root' }}"
      ansible.builtin.apt: {name: nfs-kernel-server, state: present, fail_on_autoremove: true}
      when: inventory_hostname == nfs_server and ansible_facts.os_family == 'Debian'

    - name: NFS server (Red Hat and its kin)
      become: "{{ ansible_facts.user_id != 'root' }}"
      ansible.builtin.dnf: {name: nfs-utils, state: present}
      when: inventory_hostname == nfs_server and ansible_facts.os_family == 'RedHat'

    - name: Exported folders, and that of the exports
      become: "{{ ansible_facts.user_id != 'root' }}"
      ansible.builtin.file: {path: "{{ item }}", state: directory}
      loop: "{{ nfs_exports | map(attribute='path') | list + ['/etc/exports.d'] }}"
      when: inventory_hostname == nfs_server

    - name: Exports, to the nodes alone
      become: "{{ ansible_facts.user_id != 'root' }}"
      ansible.builtin.copy:
        dest: /etc/exports.d/allranks.exports
        content: |
          {% for export in nfs_exports %}
          {% set options = export.opts | default('rw,sync,no_subtree_check') %}
          {{ export.path }}{% for client in nfs_clients %} {{ client }}({{ options }}){% endfor %}

          {% endfor %}
        mode: "0644"
      register: exports
      when: inventory_hostname == nfs_server

    - name: The server runs
      become: "{{ ansible_facts.user_id != 'root' }}"
      ansible.builtin.service: {name: nfs-server, state: started, enabled: true}
      when: inventory_hostname == nfs_server
      tags: [services]

    - name: What is exported is what the file says
      become: "{{ ansible_facts.user_id != 'root' }}"
      ansible.builtin.command:
        argv: [exportfs, -ra]
      changed_when: true
      when: inventory_hostname == nfs_server and exports is changed
      tags: [services]

    - name: NFS client (Debian, Ubuntu)
      become: "{{ ansible_facts.user_id != 'root' }}"
      ansible.builtin.apt: {name: nfs-common, state: present, fail_on_autoremove: true}
      when: "'nfs' in shared_mounts | map(attribute='fstype') | join and ansible_facts.os_family == 'Debian'"

    - name: NFS client (Red Hat and its kin)
      become: "{{ ansible_facts.user_id != 'root' }}"
      ansible.builtin.dnf: {name: nfs-utils, state: present}
      when: "'nfs' in shared_mounts | map(attribute='fstype') | join and ansible_facts.os_family == 'RedHat'"

    # shared_mounts: [{src: "10.0.0.5:/export/nfs", path: /nfs, fstype: nfs, opts: "ro,hard"}]
    - name: Mount points
      become: "{{ ansible_facts.user_id != 'root' }}"
      ansible.builtin.command:
        argv: [mkdir, -p, --, "{{ item.path }}"]
        creates: "{{ item.path }}"
      loop: "{{ shared_mounts }}"
      when: inventory_hostname != nfs_server

    - name: Mounts in fstab
      become: "{{ ansible_facts.user_id != 'root' }}"
      ansible.builtin.lineinfile:
        path: /etc/fstab
        regexp: '^\\S+\\s+{{ item.path | regex_escape }}\\s'
        line: "{{ item.src }} {{ item.path }} {{ item.fstype }} {{ item.opts | default('defaults') }} 0 0"
      loop: "{{ shared_mounts }}"
      when: inventory_hostname != nfs_server

    - name: What is mounted
      ansible.builtin.command:
        argv: [findmnt, --noheadings, --mountpoint, "{{ item.path }}"]
      loop: "{{ shared_mounts }}"
      when: inventory_hostname != nfs_server
      register: mounted
      changed_when: false
      failed_when: mounted.rc not in [0, 1]
      check_mode: false

    - name: Mount what is not
      become: "{{ ansible_facts.user_id != 'root' }}"
      ansible.builtin.command:
        argv: [mount, "{{ item.item.path }}"]
      loop: "{{ mounted.results }}"
      loop_control: {label: "{{ item.item.path }}"}
      when: item.rc | default(0) != 0
      changed_when: true
      tags: [mounts]

    - name: Folders that the container mounts
      ansible.builtin.stat: {path: "{{ item }}"}
      loop: "{{ folders_expected }}"
      register: folders

    - name: Every one of them is there
      ansible.builtin.assert:
        that: item.stat.exists
        fail_msg: "{{ item.item }} is not on this node: docker would make an empty folder of that name."
        quiet: true
      loop: "{{ folders.results }}"
      loop_control: {label: "{{ item.item }}"}

    - name: Folder of the environment
      become: "{{ ansible_facts.user_id != 'root' }}"
      ansible.builtin.file:
        path: "{{ venv }}"
        state: directory
        owner: "{{ ansible_facts.user_id }}"
        mode: "0755"
      when: environment_wanted

    - name: Virtual environment
      ansible.builtin.command:
        argv: ["{{ environment_python }}", -m, venv, "{{ venv }}"]
        creates: "{{ venv }}/bin/python"
      when: environment_wanted

    - name: Pinned versions
      ansible.builtin.copy:
        src: requirements.txt
        dest: "{{ venv }}/requirements.txt"
        mode: "0644"
      when: environment_wanted

    - name: Wheels
      ansible.builtin.copy:
        src: "{{ wheels }}/"
        dest: "{{ venv }}/wheels/"
        mode: "0644"
      when: environment_wanted and wheels | length > 0

    - name: Packages from an index
      ansible.builtin.pip:
        requirements: "{{ venv }}/requirements.txt"
        virtualenv: "{{ venv }}"
      when: environment_wanted and wheels | length == 0

    - name: Packages from the wheels alone
      ansible.builtin.pip:
        requirements: "{{ venv }}/requirements.txt"
        virtualenv: "{{ venv }}"
        extra_args: "--no-index --find-links {{ venv | quote }}/wheels"
      when: environment_wanted and wheels | length > 0

    # They are compiled otherwise by every rank at its first step, while the others wait.
    - name: DeepSpeed ops, built ahead
      ansible.builtin.command:
        argv:
          - "{{ venv }}/bin/python"
          - -c
          - |
            import importlib, os, sys
            from torch.utils.cpp_extension import _get_build_directory
            builder = getattr(importlib.import_module("deepspeed.ops.op_builder"), sys.argv[1])()
            library = os.path.join(_get_build_directory(builder.name, False), builder.name + ".so")
            there = os.path.exists(library)
            builder.load(verbose=False)
            print("was there" if there else "built")
          - "{{ item }}"
      environment:
        PATH: "{{ venv }}/bin:{{ ansible_facts.env.PATH }}"
      loop: "{{ deepspeed_ops }}"
      register: built
      changed_when: "'was there' not in built.stdout"

    - name: Is the image there
      ansible.builtin.command:
        argv: ["{{ container_engine }}", image, inspect, "{{ container_image }}"]
      register: image
      changed_when: false
      failed_when: image.rc not in [0, 1, 125]
      check_mode: false
      when: container_engine in ['docker', 'podman']

    - name: The image
      ansible.builtin.command:
        argv: ["{{ container_engine }}", pull, "{{ container_image }}"]
      changed_when: true
      when: container_engine in ['docker', 'podman'] and image.rc | default(0) != 0
"""

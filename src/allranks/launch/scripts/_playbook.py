"""The playbook's text: the same for every run, since all that differs stands in vars.yml."""

PLAYBOOK = """\
---
# Installs the training environment. Every task looks first: a second run changes nothing.
- name: Training environment
  hosts: training_nodes
  gather_facts: true
  vars_files: [vars.yml]

  tasks:
    - name: System packages (Debian, Ubuntu)
      become: true
      ansible.builtin.apt:
        name: [build-essential, python3-dev, python3-venv, python3-pip, libaio-dev, ninja-build]
        state: present
        update_cache: true
        cache_valid_time: 86400
      when: environment_wanted and ansible_facts.os_family == 'Debian'

    - name: System packages (Red Hat and its kin)
      become: true
      ansible.builtin.dnf:
        name: [gcc-c++, make, python3-devel, python3-pip, libaio-devel, ninja-build]
        state: present
      when: environment_wanted and ansible_facts.os_family == 'RedHat'

    # shared_mounts: [{src: "10.0.0.5:/export/nfs", path: /nfs, fstype: nfs, opts: "ro,hard"}]
    - name: Mount points
      become: true
      ansible.builtin.command:
        argv: [mkdir, -p, --, "{{ item.path }}"]
        creates: "{{ item.path }}"
      loop: "{{ shared_mounts }}"

    - name: Mounts in fstab
      become: true
      ansible.builtin.lineinfile:
        path: /etc/fstab
        regexp: '^\\S+\\s+{{ item.path | regex_escape }}\\s'
        line: "{{ item.src }} {{ item.path }} {{ item.fstype }} {{ item.opts | default('defaults') }} 0 0"
      loop: "{{ shared_mounts }}"

    - name: What is mounted
      ansible.builtin.command:
        argv: [findmnt, --noheadings, --mountpoint, "{{ item.path }}"]
      loop: "{{ shared_mounts }}"
      register: mounted
      changed_when: false
      failed_when: mounted.rc not in [0, 1]
      check_mode: false

    - name: Mount what is not
      become: true
      ansible.builtin.command:
        argv: [mount, "{{ item.item.path }}"]
      loop: "{{ mounted.results }}"
      loop_control: {label: "{{ item.item.path }}"}
      when: item.rc | default(0) != 0
      changed_when: true

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
      become: true
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

// Made by `npm run generate` from src/domain/health/checks.

/** What a warning or failure of each check means, and what to do about it. */
export const checkMeanings = {
  disk_space: {
    meaning: "A file system is nearly full: programs that write to it will fail.",
    remedy: "Find what grew (du -xh PATH | sort -h | tail), remove it or enlarge the file system.",
  },
  inode_usage: {
    meaning: "A file system is running out of inodes: it can hold few more files, however much space is left.",
    remedy: "Find the directory with very many small files (du --inodes -x PATH | sort -n | tail) and remove them.",
  },
  memory: {
    meaning: "Little memory is available without swapping: the OOM killer may soon kill a process.",
    remedy: "Find what uses it (ps aux --sort=-rss | head), limit or restart it, or add memory.",
  },
  swap_usage: {
    meaning: "Memory is too small for the workload: pages move to and from swap, which makes everything slow.",
    remedy: "Find what uses memory (ps aux --sort=-rss | head), limit it or add memory; more swap only postpones it.",
  },
  cpu_load: {
    meaning: "The processors have been busy nearly all the time, and tasks wait for them.",
    remedy: "See what runs (top); if the load is expected, raise the thresholds or set `over: 10m`.",
  },
  file_descriptors: {
    meaning: "A process, or the system, is near its limit of open files: opening another file or connection will fail.",
    remedy: "Look for a leak (ls /proc/PID/fd); if the number is expected, raise LimitNOFILE= of the unit.",
  },
  zombie_processes: {
    meaning: "A program does not reap its child processes: each keeps its process id until the parent ends.",
    remedy: "Restart the parent that the message names, and report the bug to its developers.",
  },
  systemd_failed: {
    meaning: "A systemd unit has failed: its work is not being done.",
    remedy: "Read why (systemctl status UNIT, journalctl -u UNIT), fix that, then start it.",
  },
  unit_restart_loops: {
    meaning: "A service crashes and is started again, over and over.",
    remedy: "Read why it ends (journalctl -u UNIT), and stop it until that is fixed.",
  },
  time_sync: {
    meaning:
      "Nothing synchronises the clock, or it is not synchronised yet: it will drift, and certificates, logs and logins will be affected.",
    remedy: "Enable a time service (timedatectl set-ntp true) and allow outgoing NTP (UDP port 123).",
  },
  dns_resolution: {
    meaning: "A name server of this host does not answer: names resolve slowly, or not at all.",
    remedy: "Check the server and the network path to it, and correct /etc/resolv.conf or what writes it.",
  },
  network_connectivity: {
    meaning: "The host has no default route, or one of several is down.",
    remedy:
      "Check the link and the default route (ip link, ip route); on a host that is meant to be isolated, set `health.isolated: true`.",
  },
  apt_status: {
    meaning: "The package database is in a state that prevents updates, or packages are held and get none.",
    remedy: "Finish what was interrupted (dpkg --configure -a, apt-get -f install); release holds that are not needed.",
  },
  dnf_status: {
    meaning: "The package database is in a state that prevents updates, or packages are held and get none.",
    remedy: "Finish what was interrupted (dpkg --configure -a, apt-get -f install); release holds that are not needed.",
  },
  zypper_status: {
    meaning: "The package database is in a state that prevents updates, or packages are held and get none.",
    remedy: "Finish what was interrupted (dpkg --configure -a, apt-get -f install); release holds that are not needed.",
  },
  pacman_status: {
    meaning: "The package database is in a state that prevents updates, or packages are held and get none.",
    remedy: "Finish what was interrupted (dpkg --configure -a, apt-get -f install); release holds that are not needed.",
  },
  security_updates: {
    meaning: "Known vulnerabilities are not fixed, or the package lists are too old to tell.",
    remedy: "Install the security updates; if the lists are old, find out why they are not refreshed.",
  },
  reboot_required: {
    meaning: "An update has been installed that takes effect only after a reboot, usually of the kernel.",
    remedy: "Plan a reboot (steward reboot).",
  },
  read_only_filesystems: {
    meaning:
      "A file system that should be writable is not, or cannot even be inspected, usually because the kernel found errors on it.",
    remedy:
      "Read the kernel log (journalctl -k), save the data, and check the disk and the file system before a remount.",
  },
  oom_kills: {
    meaning: "Memory ran out, and the kernel killed a process to free some.",
    remedy: "Give the process more memory or a limit of its own (MemoryMax=), and see that it was started again.",
  },
  journal_size: {
    meaning: "The journal takes more space than journald's own limit.",
    remedy: "Shrink it (journalctl --vacuum-size=1G) or set SystemMaxUse= in journald.conf.",
  },
  tls_certificates: {
    meaning: "A certificate expires soon, has expired or cannot be read: clients will refuse the connection.",
    remedy: "Renew it, and find out why it was not renewed automatically.",
  },
  raid_status: {
    meaning: "A software RAID has lost a device or is rebuilding: the next failure may lose data.",
    remedy: "Find the device (cat /proc/mdstat, mdadm --detail), replace it, and make sure that there is a backup.",
  },
  ssh_config: {
    meaning: "sshd permits too much, or would not start with its present configuration.",
    remedy: "Change the named option in sshd_config, test it (sshd -t) and reload, with a session kept open.",
  },
  firewall: {
    meaning: "A port is open to the network, and no packet filter on this host protects it.",
    remedy:
      "Filter incoming packets (nftables, ufw, firewalld), or bind the service only to the addresses that need it.",
  },
  pressure: {
    meaning: "Tasks are stalled for much of the time because processors, memory or disks are overloaded.",
    remedy: "See what uses the named resource (top, iotop), and limit it or give the host more.",
  },
  kernel_errors: {
    meaning: "The kernel reports failing hardware, a damaged file system or an internal error.",
    remedy:
      "Read the kernel messages (journalctl -k), save the data of the named disk first, then test or replace the hardware.",
  },
  timers: {
    meaning: "A job that a timer starts has failed, does not end, or was not started.",
    remedy: "Read its log (journalctl -u UNIT), fix it and run it once by hand (systemctl start UNIT).",
  },
  lvm_thin: {
    meaning: "A thin pool is nearly full: once it is full, none of its volumes can be written, and data may be lost.",
    remedy: "Extend the pool or its metadata (lvextend), or remove snapshots and volumes that are not needed.",
  },
  filesystem_health: {
    meaning: "A file system has errors on record: data was not read or written correctly.",
    remedy: "Check backups first; then scrub or repair it (btrfs scrub, zpool status -v, e2fsck) and test the disk.",
  },
  smart: {
    meaning: "A disk reports that it is failing, worn out or too hot.",
    remedy: "Make sure that there is a backup and replace the disk; for heat, check the air flow.",
  },
  unit_memory: {
    meaning: "A unit is near its memory limit, or some of its processes were killed by the OOM killer.",
    remedy: "Look for a leak, or raise MemoryMax= of the unit.",
  },
  conntrack: {
    meaning:
      "The connection tracking table of the kernel is nearly full: once it is full, new connections are dropped.",
    remedy: "See who opens them (conntrack -L), and raise net.netfilter.nf_conntrack_max if that is expected.",
  },
  temperature: {
    meaning: "A hardware component is near its temperature limit: it slows down, and may switch off or fail.",
    remedy: "Check the fans, remove dust, and check the room temperature.",
  },
  clock_offset: {
    meaning: "The clock is off by more than programs tolerate, although a time service runs.",
    remedy: "Ask the time service for its sources (chronyc sources, timedatectl timesync-status).",
  },
  endpoints: {
    meaning: "An address in the settings does not answer as expected, or answers too slowly.",
    remedy: "Check the service behind it and the network path to it.",
  },
  containers: {
    meaning: "A container does not work: it crashes, is unhealthy, or was killed by the OOM killer.",
    remedy: "Read its log (docker logs NAME, podman logs NAME), fix the cause, then start it.",
  },
  backup_age: {
    meaning: "The last backup is too old or failed, or no backup exists.",
    remedy: "Run the backup by hand and see why it failed; then test that it can be restored.",
  },
  new_errors: {
    meaning: "A program logs an error that this host has never logged before.",
    remedy:
      "Read the entries (steward logs --template ID --since -1d) and what stands around them; what is harmless goes into `ignore`, by its id or unit.",
  },
} as const;

/**
 * A plugin that tries what a plugin should not be able to do, and says of each what came of it, a line each: `name: ok`, or the
 * name of the error. Its arguments are the process of the service and a file that only root may read.
 */
export const reportingPlugin = `#!/usr/bin/python3
import errno, os, signal, socket, sys
service, secret = int(sys.argv[1]), sys.argv[2]

def tell(name, action):
    try:
        result = action()
        print(name + ": " + (result if isinstance(result, str) else "ok"), flush=True)
    except OSError as error:
        print(name + ": " + errno.errorcode.get(error.errno, str(error)), flush=True)

def read(path):
    with open(path, "rb") as file:
        file.read(1)

def write(path):
    with open(path, "wb") as file:
        file.write(b"x")

def status(key):
    for line in open("/proc/self/status"):
        if line.startswith(key + ":"):
            return line.split()[1]

def writable():
    found = []
    for directory, directories, _ in os.walk("/"):
        directories[:] = [] if directory in ("/proc", "/sys") else directories
        path = os.path.join(directory, "steward-test")
        try:
            write(path)
            os.unlink(path)
            found.append(directory)
        except OSError:
            pass
    return " ".join(sorted(found))

def child(action):
    pid = os.fork()
    if pid == 0:
        try:
            action()
            os._exit(0)
        except OSError as error:
            os._exit(error.errno)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code != 0:
        raise OSError(code, "")

def connect(path):
    client = socket.socket(socket.AF_UNIX)
    client.connect(path)

print("root: " + str(os.getuid() == 0 or os.geteuid() == 0 or 0 in os.getgroups()))
print("environment: " + " ".join(sorted(os.environ)))
print("directory: " + os.getcwd())
for key in ("CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"):
    print(key + ": " + status(key))
tell("read /etc/shadow", lambda: read("/etc/shadow"))
tell("read the key store", lambda: read("/var/lib/steward/keys.db"))
tell("read the admin key", lambda: read("/var/lib/steward/admin.key"))
tell("list the state directory", lambda: " ".join(os.listdir("/var/lib/steward")))
tell("read the secret", lambda: read(secret))
tell("read the environment of the service", lambda: read("/proc/%d/environ" % service))
tell("read the memory of the service", lambda: read("/proc/%d/mem" % service))
tell("read the files of the service", lambda: " ".join(os.listdir("/proc/%d/fd" % service)))
tell("read the environment of systemd", lambda: read("/proc/1/environ"))
tell("list /root", lambda: " ".join(os.listdir("/root")))
tell("read the kernel log", lambda: read("/dev/kmsg"))
tell("read the disk", lambda: read("/dev/testhost"))
print("writes into: " + writable())
tell("change its own directory", lambda: write(os.environ["STEWARD_PLUGIN_DIR"] + "/more"))
tell("change its program", lambda: write(sys.argv[0]))
tell("change the kernel", lambda: write("/proc/sys/kernel/hostname"))
tell("kill the service", lambda: os.kill(service, signal.SIGKILL))
tell("kill systemd", lambda: os.kill(1, signal.SIGTERM))
tell("become root", lambda: os.setuid(0))
tell("change its root", lambda: os.chroot("/tmp"))
own = os.environ["TMPDIR"]
tell("make a device", lambda: os.mknod(f"{own}/device", 0o600 | 0o020000, os.makedev(1, 8)))
tell("make a set-user-id program", lambda: (write(f"{own}/program"), os.chmod(f"{own}/program", 0o4755)))
tell("be more important", lambda: os.nice(-10) and None)
for name, family in (("inet", socket.AF_INET), ("inet6", socket.AF_INET6), ("netlink", socket.AF_NETLINK), ("packet", socket.AF_PACKET)):
    tell("socket " + name, lambda: socket.socket(family, socket.SOCK_RAW if name == "packet" else socket.SOCK_DGRAM))
tell("socket of the manager", lambda: connect("/run/systemd/private"))
tell("socket of the bus", lambda: connect("/run/dbus/system_bus_socket"))
tell("read a terminal", lambda: os.close(os.open("/dev/pts/0", os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)))
tell("read what the kernel shows to root", lambda: " ".join(os.listdir("/sys/firmware")) or "nothing")
`;

import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ProcessEntry } from "#contract/processes.ts";
import { runCommand } from "./commands.ts";
import { commandLineOn } from "./support/command-line.ts";
import { eventually } from "./support/eventually.ts";
import { freePort } from "./support/plugin-peers.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";
import { createSmallDisk } from "./support/small-disk.ts";
import { property } from "./support/systemctl.ts";

interface Listed {
  readonly kname: string;
  readonly type: string;
  readonly size: number;
  readonly ro: boolean;
  readonly children?: readonly Listed[];
}

interface Found {
  readonly target: string;
  readonly source: string;
  readonly fstype: string;
  readonly options: string;
}

const flat = (rows: readonly Listed[]): readonly Listed[] => rows.flatMap((row) => [row, ...flat(row.children ?? [])]);
const sorted = (options: string): readonly string[] => options.split(",").toSorted();

/** Gives the kernel of this machine, which the host shares, a disk with a partition, without a program that writes tables of them. */
async function withPartition(use: (disk: string, partition: string) => Promise<void>): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "steward-partition-"));
  const image = join(dir, "image");
  writeFileSync(image, "");
  truncateSync(image, 16 * 2 ** 20);
  try {
    const device = (await runCommand(["losetup", "--find", "--show", image])).stdout.trim();
    try {
      await runCommand(["addpart", device, "1", "2048", "16384"]);
      try {
        await use(basename(device), `${basename(device)}p1`);
      } finally {
        await runCommand(["delpart", device, "1"]);
      }
    } finally {
      await runCommand(["losetup", "--detach", device]);
    }
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** What ps prints, by process id. */
interface Ps {
  readonly ppid: number;
  readonly user: string;
  readonly startedAt: number;
  readonly threads: number;
}

function parsePs(text: string): ReadonlyMap<number, Ps> {
  const rows = text
    .trim()
    .split("\n")
    .map((line) => {
      const [pid = "", ppid = "", user = "", threads = "", ...started] = line.trim().split(/\s+/);
      const startedAt = Date.parse(`${started.join(" ")} UTC`);
      return [Number(pid), { ppid: Number(ppid), user, threads: Number(threads), startedAt }] as const;
    });
  return new Map(rows);
}

/** On one host, of which these change nothing that another of them reads. */
describeOnHost("what the service reads of a host", { checks: ["ssh_config"] }, (session) => {
  const { shell } = session;

  describe("disks", () => {
    const findmnt = async (): Promise<readonly Found[]> => {
      const text = await shell("findmnt --json --list -o TARGET,SOURCE,FSTYPE,OPTIONS");
      return (JSON.parse(text) as { filesystems: Found[] }).filesystems;
    };
    const mounts = async () =>
      (await session.api.listDisks()).file_systems.flatMap((each) =>
        each.mounts.map((mount) => ({ ...mount, type: each.type, source: each.source, fileSystem: each })),
      );

    it("are those of lsblk", async () => {
      const disk = await createSmallDisk(session, 16);
      await disk.mount("/mnt/small");
      const text = await shell("lsblk --json --bytes --output NAME,KNAME,TYPE,SIZE,RO");
      const theirs = new Map(
        flat((JSON.parse(text) as { blockdevices: Listed[] }).blockdevices).map((each) => [each.kname, each]),
      );
      const { devices, file_systems: fileSystems } = await session.api.listDisks();
      // Loop devices are those of the whole machine, on which others work as well.
      const isOwn = (name: string): boolean => !name.startsWith("loop");
      expect(
        devices
          .filter(({ name }) => isOwn(name))
          .map(({ name }) => name)
          .toSorted(),
      ).toEqual([...theirs.keys()].filter(isOwn).toSorted());
      const parentsOf = (rows: readonly Listed[], parent?: string): readonly (readonly [string, string])[] =>
        rows.flatMap((row) => [
          ...(parent === undefined ? [] : [[row.kname, parent] as const]),
          ...parentsOf(row.children ?? [], row.kname),
        ]);
      const pairs = (all: readonly (readonly [string, string])[]) => new Set(all.map((pair) => pair.join(" on ")));
      // What is made of a loop device of another program comes and goes with it.
      expect(
        pairs(
          devices
            .flatMap(({ name, parents }) => parents.map((parent) => [name, parent] as const))
            .filter(([, of]) => isOwn(of)),
        ),
      ).toEqual(
        pairs(parentsOf((JSON.parse(text) as { blockdevices: Listed[] }).blockdevices).filter(([, of]) => isOwn(of))),
      );
      for (const { name, type, size_bytes: size, is_read_only: isReadOnly } of devices.filter((each) =>
        isOwn(each.name),
      ))
        expect([type, size, isReadOnly]).toEqual([
          theirs.get(name)?.type,
          theirs.get(name)?.size,
          theirs.get(name)?.ro,
        ]);
      const small = fileSystems.find((each) => each.mounts.some(({ path }) => path === "/mnt/small"));
      expect(small).toMatchObject({ type: "ext4", devices: [expect.stringMatching(/^loop\d+$/)] });
      expect(devices.find(({ name }) => name === small?.devices[0])).toMatchObject({
        type: "loop",
        size_bytes: 16 * 2 ** 20,
      });
      await disk.unmount();
      disk.dispose();
    });

    it("have partitions with the disk that they are part of", async () => {
      await withPartition(async (disk, partition) => {
        const text = await shell("lsblk --json --bytes --output NAME,KNAME,TYPE,SIZE,RO");
        const theirs = (JSON.parse(text) as { blockdevices: Listed[] }).blockdevices.find(
          ({ kname }) => kname === disk,
        );
        expect(theirs?.children).toMatchObject([{ kname: partition, type: "part" }]);
        const { devices } = await session.api.listDisks();
        expect(devices.filter(({ name }) => [disk, partition].includes(name))).toMatchObject([
          { name: disk, type: "loop", parents: [], size_bytes: theirs?.size },
          { name: partition, type: "part", parents: [disk], size_bytes: 16_384 * 512 },
        ]);
      });
    });

    it("have the mounts of the host, not those of the sandbox", async () => {
      await shell(
        "mkdir -p /mnt/ro /mnt/bound && mount -t tmpfs -o ro,size=3m,nr_inodes=77 odd /mnt/ro && mount --bind /usr /mnt/bound",
      );
      // Several may be mounted at one path.
      const theirs = Map.groupBy(await findmnt(), ({ target }) => target);
      const ours = await mounts();
      for (const { path, type, options, is_read_only: isReadOnly } of ours) {
        const same = theirs.get(path)?.map((each) => [each.fstype, ...sorted(each.options)]);
        expect([path, same]).toEqual([path, expect.arrayContaining([[type, ...sorted(options)]])]);
        expect([path, isReadOnly]).toEqual([path, options.split(",").includes("ro")]);
      }
      const paths = ours.map(({ path }) => path);
      expect(paths).toEqual(expect.arrayContaining(["/", "/.snapshots", "/run", "/mnt/ro", "/mnt/bound"]));
      for (const own of ["/var/lib/steward", "/var/tmp", "/home", "/proc", "/dev"]) expect(paths).not.toContain(own);
      expect((await session.api.listDisks()).notes).toEqual([]);
      await shell("umount /mnt/ro /mnt/bound");
    });

    it("have the usage that df prints, of shared memory too", async () => {
      const text = await shell("df --block-size=1 --output=target,size,used,avail,itotal,iused / /run /dev/shm");
      for (const line of text.trim().split("\n").slice(1)) {
        const [path, ...numbers] = line.trim().split(/\s+/);
        const [size = 0, used = 0, available = 0, inodes = 0, inodesUsed = 0] = numbers.map(Number);
        const usage = (await mounts()).find((each) => each.path === path)?.fileSystem.usage;
        expect([path, usage?.size_bytes, usage?.inodes]).toEqual([path, size, inodes]);
        // Between the two others write.
        const near = 16 * 2 ** 20;
        expect(Math.abs((usage?.used_bytes ?? 0) - used)).toBeLessThan(near);
        expect(Math.abs((usage?.available_bytes ?? 0) - available)).toBeLessThan(near);
        expect(Math.abs((usage?.inodes_used ?? 0) - inodesUsed)).toBeLessThan(100);
      }
    });

    it("have mount points of any name", async () => {
      const names = ["/mnt/a b", "/mnt/line\nbreak", "/mnt/\u001b[2Jü", '/mnt/"\\', "/mnt/#x"];
      for (const name of names) {
        const quoted = `'${name}'`;
        await shell(`mkdir -p ${quoted} && mount -t tmpfs -o size=1m ${quoted} ${quoted}`);
      }
      const ours = (await mounts()).filter(({ path }) => names.includes(path));
      expect(ours.map(({ path }) => path).toSorted()).toEqual(names.toSorted());
      for (const { path, source, fileSystem } of ours)
        expect([source, fileSystem.usage?.size_bytes]).toEqual([path, 2 ** 20]);
      for (const name of names) await shell(`umount '${name}'`);
    });

    it("are unavailable without lsblk, and the answer names the package", async () => {
      await shell("mv /usr/bin/lsblk /usr/bin/lsblk.away");
      const refused = await refusal(session.api.listDisks());
      await shell("mv /usr/bin/lsblk.away /usr/bin/lsblk");
      expect(refused).toMatchObject({ status: 503, message: expect.stringContaining("util-linux") });
    });
  });

  describe("disk usage", () => {
    const asService = "setpriv --reuid=steward --regid=steward --init-groups";
    const du = async (path: string, depth: number): Promise<ReadonlyMap<string, number>> => {
      const text = await shell(`${asService} du -x --block-size=1 --max-depth=${depth} ${path} 2>/dev/null || true`);
      const rows = text.trim().split("\n");
      return new Map(rows.map((row) => [row.slice(row.indexOf("\t") + 1), Number(row.slice(0, row.indexOf("\t")))]));
    };

    it.each([
      ["/usr/share", 2],
      ["/etc/systemd", 16],
    ])("of %s is what du measures", async (path, depth) => {
      const theirs = await du(path, depth);
      const found = await session.api.getDiskUsage({ query: { path, depth, limit: 1_000 } });
      const closed = await shell(`${asService} find ${path} -xdev -type d ! -readable -prune -print`);
      expect([found.truncated, found.unreadable.paths.toSorted()]).toEqual([
        null,
        closed.split("\n").filter(Boolean).toSorted(),
      ]);
      expect(found.bytes).toBe(theirs.get(path));
      const directories = found.largest.filter(({ type }) => type === "folder");
      expect(directories.length).toBeGreaterThan(3);
      // Where files of several names are counted depends on the order of reading.
      for (const { path: at, bytes } of directories) expect([at, bytes]).toEqual([at, theirs.get(at)]);
    });

    it("leaves out other file systems, and names what it cannot read", async () => {
      await shell("mkdir -p /srv/du/mnt /srv/du/closed && mount -t tmpfs odd /srv/du/mnt && chmod 700 /srv/du/closed");
      const found = await session.api.getDiskUsage({ query: { path: "/srv/du" } });
      expect(found.other_file_systems).toEqual({ total: 1, paths: ["/srv/du/mnt"] });
      expect(found.unreadable).toEqual({ total: 1, paths: ["/srv/du/closed"] });
      await shell("umount /srv/du/mnt && rm -r /srv/du");
      for (const path of ["/root", "/tmp", "/var/tmp"])
        expect(await refusal(session.api.getDiskUsage({ query: { path } }))).toMatchObject({ status: 503 });
      const { unreadable } = await session.api.getDiskUsage({ query: { path: "/var" } });
      expect(unreadable.paths).toContain("/var/tmp");
    });
  });

  describe("users and sign-ins", () => {
    const userNamed = async (name: string) => {
      const { users } = await session.api.listUsers({ query: { limit: 10_000 } });
      return users.find((each) => each.name === name);
    };

    const options = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes -i /run/users-key";
    let port: number;

    beforeAll(async () => {
      port = await freePort();
      await session.writeUnits({
        "users-sshd.service": [
          "[Service]",
          "RuntimeDirectory=sshd",
          `ExecStart=/usr/sbin/sshd -D -p ${port} -o ListenAddress=127.0.0.1`,
        ],
      });
      await shell("ssh-keygen -A; ssh-keygen -q -t ed25519 -N '' -f /run/users-key");
    });
    afterAll(() => shell("systemctl stop users-sshd.service"));

    const restartSshd = async () => {
      await shell("systemctl restart users-sshd.service");
      await eventually(async () =>
        expect(await shell(`ssh-keyscan -p ${port} 127.0.0.1 2>/dev/null`)).toContain("ssh-ed25519"),
      );
    };

    it("users whose keys sshd does not say where they are may be able to sign in", async () => {
      // Debian 13 makes its directory at each boot.
      await shell("useradd --create-home unasked; rm -rf /run/sshd");
      expect(await userNamed("unasked")).toMatchObject({ authorized_keys: [], can_sign_in: null });
      const { not_shown: missing } = await session.api.listUsers();
      expect(missing).toContainEqual({
        what: "authorized_keys",
        reason: expect.stringContaining("has not been started"),
      });
      await restartSshd();
      expect(await userNamed("unasked")).toMatchObject({ authorized_keys: [], can_sign_in: false });
      expect((await session.api.listUsers()).not_shown).toEqual([]);
    });

    it("users are those of getent, with the keys of ssh-keygen", async () => {
      await shell(
        [
          "useradd --create-home --shell /bin/bash --groups adm --comment 'Eve, of the tests' eve",
          "install -d -m 700 -o eve -g eve ~eve/.ssh",
          "ssh-keygen -q -t ed25519 -N '' -C eve@laptop -f /run/eve-key",
          `{ echo "# keys"; printf 'from="192.0.2.0/24",no-pty '; cat /run/eve-key.pub; } >~eve/.ssh/authorized_keys`,
          "chmod 600 ~eve/.ssh/authorized_keys; chown eve: ~eve/.ssh/authorized_keys",
          "useradd --create-home mal; install -d -o mal ~mal/.ssh; ln -s ~eve/.ssh/authorized_keys ~mal/.ssh/authorized_keys",
          "useradd --create-home --expiredate 2020-01-01 former; echo former:x | chpasswd",
        ].join("\n"),
      );
      const [bits = "", fingerprint = ""] = (await shell("ssh-keygen -lf /run/eve-key.pub")).split(" ");
      expect(await userNamed("eve")).toMatchObject({
        ...{ comment: "Eve, of the tests", home: "/home/eve", shell: "/bin/bash", groups: ["eve", "adm"] },
        ...{ password: "locked", can_sign_in: true, expires_at: null },
        authorized_keys: [
          { type: "ssh-ed25519", bits: Number(bits), fingerprint, comment: "eve@laptop", options: ["from", "no-pty"] },
        ],
      });
      expect(await userNamed("mal")).toMatchObject({ authorized_keys: null, can_sign_in: null });
      expect(await userNamed("former")).toMatchObject({ password: "set", can_sign_in: false });
      const { users, total } = await session.api.listUsers({ query: { limit: 10_000 } });
      const passwd = (await shell("getent passwd | cut -d: -f1,3 | sort -t: -k2n")).trim().split("\n");
      expect([total, new Set(users.map(({ name, uid }) => `${name}:${uid}`))]).toEqual([
        passwd.length,
        new Set(passwd),
      ]);
      expect(JSON.stringify(users)).not.toMatch(/AAAA|\$y\$/);
    });

    it("users who can sign in by a key are those whom sshd admits, wherever it has their keys", async () => {
      const settings = "/etc/ssh/sshd_config.d/users.conf";
      await session.host.writeFile(
        settings,
        `AuthorizedKeysFile /etc/ssh/keys/%u .ssh/more
Match User nokeys
  AuthorizedKeysFile none
Match User nopubkey
  PubkeyAuthentication no
Match Group told
  AuthorizedKeysCommand /usr/local/bin/keys-of
  AuthorizedKeysCommandUser nobody
Match User near Address 127.0.0.0/8
  AuthorizedKeysFile /etc/ssh/keys/near
Match Group far Address *,!10.0.0.0/8 LocalPort ${port}
  AuthorizedKeysFile none
`,
      );
      const names = ["central", "own", "usual", "nokeys", "nopubkey", "told", "near", "far"];
      await shell(
        [
          "mkdir -p /etc/ssh/keys",
          "printf '#!/bin/sh\ncat /etc/ssh/keys/.told\n' >/usr/local/bin/keys-of; chmod 755 /usr/local/bin/keys-of",
          "cp /run/users-key.pub /etc/ssh/keys/.told",
          `for name in ${names.join(" ")}; do useradd --create-home --shell /bin/bash $name; install -d -o $name /home/$name/.ssh; done`,
          "for name in central nokeys nopubkey near far; do cp /run/users-key.pub /etc/ssh/keys/$name; done",
          "install -o own -m 600 /run/users-key.pub ~own/.ssh/more",
          "for name in usual nokeys told; do install -o $name -m 600 /run/users-key.pub /home/$name/.ssh/authorized_keys; done",
        ].join("\n"),
      );
      await restartSshd();
      const admitted = await shell(
        `for name in ${names.join(" ")}; do ssh ${options} -p ${port} $name@127.0.0.1 true 2>/dev/null && echo $name; done; true`,
      );
      expect(admitted.trim().split("\n")).toEqual(["central", "own", "told", "near"]);
      const { users, not_shown: missing } = await session.api.listUsers({ query: { limit: 10_000 } });
      const found = users.filter(({ name }) => names.includes(name));
      expect(found.map(({ name, can_sign_in: can, authorized_keys: keys }) => [name, can, keys?.length])).toEqual([
        ["central", true, 1],
        ["own", true, 1],
        ["usual", false, 0],
        ["nokeys", false, 0],
        ["nopubkey", false, 0],
        // Its key is one that only the command knows.
        ["told", null, 0],
        // Whom sshd admits depends on where they come from.
        ["near", null, 1],
        ["far", null, 1],
      ]);
      const reasons = [
        "/usr/local/bin/keys-of for them (AuthorizedKeysCommand)",
        "(Match User near Address 127.0.0.0/8)",
        `(Match Group far Address *,!10.0.0.0/8 LocalPort ${port})`,
      ];
      expect(missing).toEqual(
        reasons.map((reason) => ({ what: "authorized_keys", reason: expect.stringContaining(reason) })),
      );
      await shell(`rm ${settings}`);
      await restartSshd();
    });

    it("ssh_config says what sshd accepts of usual users from another network, and knows nothing that differs by connection", async () => {
      const settings = "/etc/ssh/sshd_config.d/matches.conf";
      const judged = async (...lines: readonly string[]) => {
        await session.host.writeFile(settings, `${lines.join("\n")}\n`);
        const { status, message, details } = await session.api.getCheck({ params: { check_id: "ssh_config" } });
        return { status, message, differs: Reflect.get(details, "differs") as unknown };
      };
      const [no, yes] = ["PasswordAuthentication no", "PasswordAuthentication yes"];
      const unknown = (match: string) => ({
        status: "skip",
        message: `What sshd accepts differs by connection (${match}), so it is not known`,
        differs: [match],
      });
      const known = (status: string) => ({ status, differs: undefined });
      expect(await judged(no)).toMatchObject(known("pass"));
      expect(await judged(no, "Match Address 10.0.0.0/8", yes)).toEqual(unknown("Match Address 10.0.0.0/8"));
      expect(await judged(no, "Match Group adm", yes)).toEqual(unknown("Match Group adm"));
      expect(await judged(no, "Match LocalPort 2222", no)).toMatchObject(known("pass"));
      expect(await judged(no, "Match RDomain other", "X11Forwarding no")).toMatchObject(known("pass"));
      expect(await judged(yes)).toMatchObject(known("warn"));
      // All who come from anywhere come to this port.
      expect(await judged(yes, "Match LocalPort 22", no)).toEqual(unknown("Match LocalPort 22"));
      expect(await judged(yes, "Match User eve", no)).toMatchObject({
        status: "warn",
        message: expect.stringMatching(/^sshd: a password is enough .*; it differs by connection \(Match User eve\)$/),
      });
      await shell(`rm ${settings}`);
    });

    it("sessions are those of loginctl, and failed sign-ins those that programs of root logged", async () => {
      const { sessions, not_shown: missing } = await session.api.listLogins();
      // Since systemd 256 it lists the managers of users too, with their class.
      const listing = await shell("loginctl list-sessions --no-legend | awk '$6 !~ /^manager/ { print $1 }'");
      const ids = listing.split("\n").filter(Boolean);
      expect(sessions?.map(({ id }) => id)).toEqual(ids);
      expect(missing.filter(({ what }) => what !== "recent")).toEqual([]);
      await shell(
        "systemd-cat -t sshd echo 'Failed password for root from 192.0.2.66 port 4 ssh2'; runuser -u eve -- systemd-cat -t sshd echo 'Failed password for forged from 192.0.2.67 port 4 ssh2'",
      );
      await eventually(async () => {
        const { failed } = await session.api.listLogins();
        expect(failed?.map(({ user, remote_host: host }) => [user, host])).toContainEqual(["root", "192.0.2.66"]);
      });
      const { failed } = await session.api.listLogins();
      expect(failed?.map(({ user }) => user)).not.toContain("forged");
    });

    it("failed sign-ins at a server that takes keys only are one for each connection", async () => {
      const settings = "/etc/ssh/sshd_config.d/keys-only.conf";
      await session.host.writeFile(
        settings,
        "PasswordAuthentication no\nKbdInteractiveAuthentication no\nMaxAuthTries 3\nDenyUsers refused\n",
      );
      await shell(
        "for name in refused stranger many; do useradd --create-home $name; done; for key in 1 2 3 4; do ssh-keygen -q -t ed25519 -N '' -f /run/other-key-$key; done",
      );
      await restartSshd();
      const signIn = (name: string, keys: readonly number[]) =>
        shell(
          `ssh ${options.replace("-i /run/users-key", keys.map((key) => `-i /run/other-key-${key}`).join(" "))} -o IdentitiesOnly=yes -p ${port} ${name}@127.0.0.1 true 2>&1 || true`,
        );
      for (const name of ["nobody-here", "refused", "stranger"])
        expect(await signIn(name, [1])).toContain("Permission denied (publickey)");
      expect(await signIn("many", [1, 2, 3, 4])).toContain("Too many authentication failures");
      const names = ["many", "stranger", "refused", "nobody-here"];
      const failed = async () => (await session.api.listLogins()).failed?.filter(({ user }) => names.includes(user));
      await eventually(async () => expect((await failed())?.map(({ user }) => user)).toContain("many"));
      expect((await failed())?.map(({ user, known_user: known, remote_host: host }) => [user, known, host])).toEqual(
        names.map((name) => [name, name !== "nobody-here", "127.0.0.1"]),
      );
      await shell(`rm ${settings}`);
      await restartSshd();
    });

    it("recent sign-ins are those of last, and named as missing without a record", async () => {
      await shell("rm -f /var/log/wtmp");
      expect(await session.api.listLogins()).toMatchObject({
        recent: null,
        not_shown: [{ what: "recent", reason: expect.stringContaining("/var/log/wtmp does not exist") }],
      });
      // type, pid, line, id, user, host, exit, session, time and its microseconds, address, unused: utmp(5)
      const script = `import struct,platform
wide=platform.machine()=="aarch64"
def row(kind,line,user,host,at):
    head=struct.pack("<hxxi32s4s32s256shh",kind,1,line,b"",user,host,0,0)
    return head+(struct.pack("<qqq",0,at,0)+bytes(16+20)+bytes(4) if wide else struct.pack("<iii",0,at,0)+bytes(16+20))
open("/var/log/wtmp","wb").write(row(7,b"pts/3",b"eve",b"192.0.2.9",1700000000)+row(8,b"pts/3",b"",b"",1700000060))`;
      await session.host.exec(["python3", "-c", script]);
      expect((await session.api.listLogins()).recent).toEqual([
        {
          ...{ user: "eve", tty: "pts/3", remote_host: "192.0.2.9", end: "logout" },
          started_at: "2023-11-14T22:13:20.000Z",
          ended_at: "2023-11-14T22:14:20.000Z",
        },
      ]);
      const last = await shell("command -v last >/dev/null && last -F -f /var/log/wtmp || echo no last");
      if (!last.startsWith("no last"))
        expect(last).toContain("192.0.2.9        Tue Nov 14 22:13:20 2023 - Tue Nov 14 22:14:20 2023");
    });
  });

  describe("processes", () => {
    const list = async (query: object = {}): Promise<readonly ProcessEntry[]> =>
      (await session.api.listProcesses({ query: { limit: 10_000, ...query } })).processes;
    const mainPid = async (unit: string): Promise<number> => Number(await property(session, unit, "MainPID"));

    it("are those of ps", async () => {
      // Started is then what runs as its user: before, systemd's own program has its process.
      await session.writeUnits({
        "web.service": ["[Service]", "Type=exec", "User=www-data", "ExecStart=/bin/sleep infinity"],
      });
      await shell("systemctl start web cron");
      const ps = parsePs(await shell("TZ=UTC LC_ALL=C ps -eo pid=,ppid=,user:40=,nlwp=,lstart="));
      const all = await list();
      // What has ended meanwhile may have been inspected half.
      const after = parsePs(await shell("TZ=UTC LC_ALL=C ps -eo pid=,ppid=,user:40=,nlwp=,lstart="));
      const compared = all.filter(({ pid }) => ps.has(pid) && after.has(pid));
      expect(compared.length).toBeGreaterThan(6);
      // A list may be a second old: what it does not have yet is in the next, or has ended.
      const missed = [...ps.keys()].filter((pid) => !all.some((each) => each.pid === pid));
      await eventually(async () => {
        const listed = new Set((await list()).map(({ pid }) => pid));
        const running = new Set((await shell("ps -eo pid=")).trim().split(/\s+/).map(Number));
        expect(missed.filter((pid) => running.has(pid) && !listed.has(pid))).toEqual([]);
      });
      expect(await list({ user: "www-data" })).toMatchObject([{ unit: "web.service", user: "www-data" }]);
      for (const { pid, ppid, user, unit, threads, start_time: start } of compared) {
        const theirs = ps.get(pid);
        // Threads of the service and of what it has root do come and go.
        const theirThreads = unit?.startsWith("steward") ? threads : theirs?.threads;
        expect([pid, ppid, user, threads]).toEqual([pid, theirs?.ppid, theirs?.user, theirThreads]);
        // ps counts back from now in whole seconds.
        expect(Math.abs(Date.parse(start) - (theirs?.startedAt ?? 0))).toBeLessThan(2_000);
      }
    });

    it("have the units that systemd names, and names that are hard to parse", async () => {
      await session.writeUnits({
        "odd.service": [
          "[Service]",
          'ExecStart=/bin/sh -c \'cp /bin/sleep "/run/od) R (d"; exec "/run/od) R (d" 1000\'',
        ],
        "secret.service": ["[Service]", "ExecStart=/bin/sh -c 'exec sleep infinity' --password=hunter2"],
      });
      await shell("systemctl start odd secret cron");
      await eventually(async () => {
        expect(await list({ unit: "odd" })).toMatchObject([{ name: "od) R (d", unit: "odd.service", user: "root" }]);
      });
      const [cron] = await list({ unit: "cron.service" });
      expect(cron?.pid).toBe(await mainPid("cron.service"));
      // What has just started is in init.scope briefly, and a list may be a second old.
      await eventually(async () => {
        const listed = (await list()).filter((each) => !each.is_kernel_thread).slice(0, 10);
        const said = await shell(`ps -o pid=,unit= -p ${listed.map(({ pid }) => pid).join(",")}`);
        const theirs = new Map(said.split("\n").map((line) => line.trim().split(/\s+/) as [string, string]));
        for (const { pid, unit } of listed) {
          const named = theirs.get(String(pid)) ?? "-";
          if (named !== "-") expect([pid, unit]).toEqual([pid, named]);
        }
      });
      const { units } = await session.api.listProcesses({ query: { by_unit: true, limit: 1 } });
      expect(units?.find(({ unit }) => unit === "odd.service")).toMatchObject({ processes: 1, threads: 1 });
    });

    it("are shown live at a terminal: units first, with their processes when one is opened", async () => {
      const { atTerminal, inPipe } = commandLineOn(session);
      // The service takes the most memory of all.
      const words = ["top", "--sort", "memory", "--interval", "1"];
      const { output, code, left } = await atTerminal(words, {
        steps: [
          { wait: ">▸ steward.service", send: "\r" },
          { wait: ">▾ steward.service" },
          { wait: " steward  /opt", send: "\r" },
          { wait: ">▸ steward.service", send: "c" },
          { wait: "UNIT (by cpu)", send: "q" },
        ],
      });
      expect([left, code]).toEqual([[], 0]);
      // The terminal is given back as it was: its first page, its cursor, its lines.
      expect(output.startsWith("\u001b[?1049h\u001b[?25l\u001b[?7l")).toBe(true);
      expect(output.endsWith("\u001b[?7h\u001b[?25h\u001b[?1049l")).toBe(true);
      for (const screen of output.split("\u001b[H").slice(1)) expect(screen.split("\n").length).toBeLessThanOrEqual(24);
      const cut = await atTerminal(words, { columns: 40, steps: [{ wait: ">▸ steward", send: "\u0003" }] });
      expect([cut.left, cut.code, cut.output.endsWith("\u001b[?1049l")]).toEqual([[], 130, true]);
      const { stdout } = await inPipe(["top", "--sort", "memory"]);
      expect(stdout).toMatch(/^UNIT +PROCESSES +CPU % +MEMORY *\nsteward\.service +\d+ +\d+\.\d +\d+(\.\d)? MiB\n/m);
    });

    it("have the processor time that they take", async () => {
      await session.writeUnits({ "busy.service": ["[Service]", "ExecStart=/bin/sh -c 'while :; do :; done'"] });
      await shell("systemctl start busy");
      const pid = await mainPid("busy.service");
      await eventually(async () => {
        const [busiest] = await list({ sort: "cpu", limit: 1 });
        expect(busiest?.pid).toBe(pid);
        expect(busiest?.cpu_percent).toBeGreaterThan(0);
      });
      await shell("systemctl stop busy");
    });

    it("have the bytes that the kernel counts as written, from the privileged side", async () => {
      const write = [
        ...["import os, time", "f = open('/srv/written', 'wb')", "f.write(bytes(32 << 20))"],
        ...["os.fsync(f.fileno())", "time.sleep(1000)"],
      ].join("; ");
      await session.writeUnits({
        "writer.service": [
          "[Service]",
          "User=www-data",
          "ExecStartPre=+/usr/bin/install -o www-data /dev/null /srv/written",
          `ExecStart=/usr/bin/python3 -c "${write}"`,
        ],
      });
      await shell("systemctl start writer");
      const pid = await mainPid("writer.service");
      await eventually(async () => {
        const theirs = await shell(`cat /proc/${pid}/io`);
        const [written = 0, read = 0] = ["write_bytes", "read_bytes"].map((key) =>
          Number(new RegExp(`^${key}: (\\d+)$`, "m").exec(theirs)?.[1]),
        );
        expect(written).toBeGreaterThanOrEqual(32 * 2 ** 20);
        const { processes: found, notes } = await session.api.listProcesses({ query: { sort: "io", limit: 10_000 } });
        expect(found.find((each) => each.pid === pid)?.io).toEqual({ read_bytes: read, written_bytes: written });
        const sums = found.map(({ io }) => (io === null ? -1 : io.read_bytes + io.written_bytes));
        expect(sums).toEqual(sums.toSorted((a, b) => b - a));
        // What has started since root was asked is not known yet.
        expect(notes.length).toBeLessThanOrEqual(1);
      });
      // Root is not asked by who wants something else.
      expect((await list({ pid }))[0]?.io).toBeNull();
      await shell("systemctl stop writer; rm /srv/written");
    });

    it("have the memory, state and command line of the kernel", async () => {
      await session.writeUnits({
        "steady.service": [
          "[Service]",
          'ExecStart=/usr/bin/python3 -c "import time; a = bytearray(32 << 20); time.sleep(1000)" --flag "two words"',
        ],
      });
      await shell("systemctl start steady");
      const pid = await mainPid("steady.service");
      await eventually(async () => {
        const status = await shell(`cat /proc/${pid}/status`);
        const resident = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
        expect(resident).toBeGreaterThan(32 * 2 ** 20);
        const [found] = await list({ pid });
        expect(Math.abs((found?.memory_bytes ?? 0) - resident)).toBeLessThan(2 ** 20);
        expect(status).toMatch(/^State:\tS \(sleeping\)$/m);
        const command = (await shell(`tr '\\0' ' ' </proc/${pid}/cmdline`)).trim();
        expect([found?.state, found?.command]).toEqual(["sleeping", command]);
      });
      await shell("systemctl stop steady");
    });

    it("are complete where /proc hides those of others from users", async () => {
      await shell("mount -o remount,hidepid=invisible /proc");
      await session.service.restart();
      const { is_complete: isComplete, processes } = await session.api.listProcesses({ query: { limit: 10_000 } });
      expect(isComplete).toBe(true);
      expect(processes).toContainEqual(expect.objectContaining({ pid: 1, user: "root" }));
      expect(processes.map(({ unit }) => unit)).toContain("dbus.service");
      await shell("mount -o remount,hidepid=off /proc");
    });

    it("are said to be incomplete where the unit of the service hides those of others", async () => {
      await session.writeUnits({ "steward.service.d/hides.conf": ["[Service]", "ProtectProc=invisible"] });
      await session.service.restart();
      const {
        is_complete: isComplete,
        notes,
        processes,
      } = await session.api.listProcesses({ query: { limit: 10_000 } });
      await session.writeUnits({ "steward.service.d/hides.conf": [] });
      expect(isComplete).toBe(false);
      expect(notes).toContainEqual(expect.stringContaining("ProtectProc="));
      expect(processes.map(({ unit }) => unit)).toEqual(processes.map(() => "steward.service"));
      await session.service.restart();
      expect(await session.api.listProcesses()).toMatchObject({ is_complete: true });
    });
  });
});

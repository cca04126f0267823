import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "./support/eventually.ts";
import { changesSince, fileTree } from "./support/file-tree.ts";
import { fixesOf, ownTraces, unchanged } from "./support/fixes.ts";
import { withKernelClock } from "./support/kernel-clock.ts";
import { freePort } from "./support/plugin-peers.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";
import { createSmallDisk, type SmallDisk } from "./support/small-disk.ts";

describeOnHost("the fix of services and of the clock", { checks: ["systemd_failed", "time_sync"] }, (session) => {
  const { check, fix, plan } = fixesOf(session);
  const start = (unit: string) => session.shell(`systemctl start ${unit} || true`);
  const failedNames = async (): Promise<readonly string[]> => {
    const { details } = await check("systemd_failed");
    return (details as { units: { name: string }[] }).units.map(({ name }) => name);
  };
  const needing = (path: string) => [
    "[Service]",
    "Type=oneshot",
    "RemainAfterExit=yes",
    `ExecStart=/usr/bin/test -e ${path}`,
  ];

  describe("systemd_restart_failed", () => {
    it("restarts a service whose cause of failure is gone, and changes nothing else", async () => {
      await session.writeUnits({ "needs.service": needing("/run/needed") });
      await start("needs.service");
      await eventually(async () => expect(await failedNames()).toEqual(["needs.service"]));
      await session.shell("touch /run/needed");

      const before = await fileTree(session);
      expect(await plan("systemd_failed")).toMatchObject({
        steps: ["restart needs.service"],
        units: ["needs.service"],
        fix_id: "systemd_restart_failed",
        risk: "moderate",
      });
      expect(await failedNames()).toEqual(["needs.service"]);

      expect(await fix("systemd_failed")).toMatchObject({
        success: true,
        steps: [{ action: "restart needs.service", status: "done", message: "needs.service is active (exited)" }],
        check: { status: "pass" },
      });
      expect(changesSince(before, await fileTree(session), ownTraces)).toEqual(unchanged);
    });

    it("reports each unit, recovered or not", async () => {
      await session.writeUnits({
        "good.service": needing("/run/good"),
        "bad.service": ["[Service]", "ExecStart=/bin/false"],
      });
      await start("good.service bad.service");
      await eventually(async () => expect(await failedNames()).toEqual(["bad.service", "good.service"]));
      await session.shell("touch /run/good");

      expect(await fix("systemd_failed")).toMatchObject({
        success: false,
        message:
          "systemd_restart_failed could not restart bad.service: it failed again at once (exit-code); see its log",
        steps: [
          { action: "restart bad.service", status: "failed" },
          { action: "restart good.service", status: "done" },
        ],
        check: { status: "fail", details: { units: [{ name: "bad.service", result: "exit-code" }] } },
      });
      await session.shell("systemctl reset-failed bad.service");
    });

    it("leaves units failed that systemd does not start, with its reasons", async () => {
      const broken = ["[Service]", "ExecStart=/bin/false"];
      const names = ["asserting", "conditional", "needy", "refusing", "unreadable"].map((name) => `${name}.service`);
      await session.writeUnits(Object.fromEntries(names.map((name) => [name, broken])));
      await start(names.join(" "));
      await eventually(async () => expect(await failedNames()).toEqual(names));
      await session.writeUnits({
        "asserting.service": ["[Unit]", "AssertPathExists=/nowhere", ...broken],
        "conditional.service": ["[Unit]", "ConditionPathExists=/nowhere", ...broken],
        "needy.service": ["[Unit]", "Requires=not-there.service", ...broken],
        "refusing.service": ["[Unit]", "RefuseManualStart=yes", ...broken],
        "unreadable.service": ["[Service]", "ExecStart=not/absolute"],
      });
      expect(await fix("systemd_failed")).toMatchObject({
        success: false,
        steps: [
          { message: "an assertion of the unit does not hold; it is failed" },
          { message: "systemd did not start it: a condition of the unit is not met" },
          { message: "Unit not-there.service not found." },
          { message: expect.stringMatching(/^Operation refused/) },
          { message: expect.stringMatching(/^systemd could not load the unit \(bad-setting/) },
        ],
      });
      expect(await failedNames()).toEqual(names);
      await session.shell("systemctl reset-failed");
    });
  });

  describe("enable_time_sync", () => {
    const install = async (command: string): Promise<void> => {
      await session.writeUnits({
        "clock-setter.service": ["[Service]", `ExecStart=${command}`, "[Install]", "WantedBy=multi-user.target"],
      });
      await session.host.writeFile("/usr/lib/systemd/ntp-units.d/10-test.list", "clock-setter.service\n");
      // Started here: an activation by D-Bus that meets a service which is still ending waits until it times out.
      await session.shell("systemctl restart systemd-timedated.service && timedatectl set-ntp false");
      // systemd answers before it is so for everybody who asks.
      await eventually(async () => expect(await session.shell("timedatectl show --property=NTP")).toBe("NTP=no\n"));
    };

    it("switches time synchronization on and waits until the clock is right", async () => {
      await withKernelClock(async ({ believe }) => {
        await believe(false);
        await install("/bin/sleep infinity");
        expect(await check("time_sync")).toMatchObject({
          status: "fail",
          fixable: true,
          fix_id: "enable_time_sync",
        });
        const before = await fileTree(session);
        expect(await plan("time_sync")).toMatchObject({
          steps: ["switch on time synchronisation (timedatectl set-ntp true)"],
          risk: "safe",
        });
        expect(await session.shell("systemctl is-active clock-setter || true")).toBe("inactive\n");
        expect(changesSince(before, await fileTree(session), ownTraces)).toEqual(unchanged);

        const fixing = fix("time_sync");
        await eventually(async () =>
          expect(await session.shell("systemctl is-active clock-setter || true")).toBe("active\n"),
        );
        await believe(true);
        expect(await fixing).toMatchObject({
          success: true,
          steps: [{ message: "Time synchronisation is on, and the clock is synchronised" }],
          check: { status: "pass", details: { enabled: true } },
        });
        // What makes it start with the host, and nothing else.
        expect(changesSince(before, await fileTree(session), ownTraces)).toEqual({
          ...unchanged,
          added: ["/etc/systemd/system/multi-user.target.wants/clock-setter.service"],
        });
      });
    });

    it("is not offered, and refuses, beside a chronyd that systemd does not know", async () => {
      await withKernelClock(async ({ believe }) => {
        await install("/bin/sleep infinity");
        // In a container the kernel is believed, no matter who sets its clock.
        await session.shell("mv /run/systemd/container /run/container-mark");
        const directives = ["local", `port ${await freePort()}`, "bindaddress 127.0.0.1", "cmdport 0"];
        await session.shell(
          `systemd-run --unit=own-clock --service-type=exec --property=RuntimeDirectory=chrony --property=RuntimeDirectoryMode=0750 /usr/sbin/chronyd -d -x -u root ${directives.map((each) => `'${each}'`).join(" ")}`,
        );
        await eventually(() => session.shell("test -e /run/chrony/chronyd.sock"));
        await believe(true);
        expect(await check("time_sync")).toMatchObject({
          status: "pass",
          message: "The clock is synchronised by chronyd",
          details: { enabled: false, other_daemon: "chronyd" },
        });
        await believe(false);
        expect(await check("time_sync")).toMatchObject({ status: "warn", fixable: false });
        for (const call of [plan, fix])
          expect(await refusal(call("time_sync"))).toMatchObject({
            status: 400,
            message: expect.stringMatching(/chronyd runs/),
          });
        expect(await session.shell("systemctl is-active clock-setter || true")).toBe("inactive\n");
        await session.shell("systemctl stop own-clock; mv /run/container-mark /run/systemd/container");
      });
    });
  });
});

describeOnHost("the fix of storage", (session) => {
  const { check, fix, plan, configure } = fixesOf(session);
  const longAgo = Date.parse("2020-01-01T00:00:00Z") / 1000;
  const inodesOf = async (path: string, names: readonly string[]): Promise<readonly string[]> => {
    const { stdout } = await session.host.exec([
      "stat",
      "--format=%i",
      "--",
      ...names.map((name) => `${path}/${name}`),
    ]);
    return stdout.trim().split("\n");
  };
  // timedated has a /var/tmp of its own, which would keep the small disk there in use.
  const quiet = ["health:", "  checks:", "    time_sync: {enabled: false}"];
  beforeAll(() => configure(quiet));

  let disk: SmallDisk | undefined;
  const newDisk = async (megabytes: number, path: string): Promise<SmallDisk> => {
    disk = await createSmallDisk(session, megabytes);
    await disk.mount(path);
    return disk;
  };
  const failsAt = async (path: string): Promise<void> =>
    expect(await check("disk_space")).toMatchObject({ status: "fail", details: { path } });
  const dropDisk = async (): Promise<void> => {
    await disk?.unmount();
    disk?.dispose();
    disk = undefined;
  };
  afterAll(() => disk?.dispose());

  describe("disk_cleanup of temporary files", () => {
    const old = ["tmp.AbCdEfGhIj", "ccAbCdEf.o"];
    const spared = [
      "notes.txt",
      "tmp.symlink123",
      "tmp.hardlink12",
      "tmp.newline12\n3",
      "tmp.abcdefghij\n",
      "-rf",
      "--",
      "tmp.openedfile",
      "tmp.mappedfile",
      "tmp.fifofifo12",
      "tmp.folder1234/tmp.AbCdEfGhIj",
      "tmp.folder1234",
      "systemd-private-abc",
      "tmp.forothers1",
    ];
    beforeAll(async () => {
      const small = await newDisk(64, "/var/tmp");
      await session.shell(
        [
          "set -e; umask 077; chmod 1777 /var/tmp; cd /var/tmp; rmdir lost+found",
          "head -c 20M /dev/urandom > tmp.AbCdEfGhIj; head -c 5M /dev/urandom > ccAbCdEf.o; chown nobody tmp.AbCdEfGhIj",
          "echo kept > notes.txt; ln -s /etc/passwd tmp.symlink123; echo kept > tmp.hardlink12; ln tmp.hardlink12 second-name",
          "echo kept > 'tmp.newline12\n3'; echo kept > 'tmp.abcdefghij\n'; echo kept > ./-rf; echo kept > ./--",
          "echo kept > tmp.openedfile; cp /usr/bin/sleep tmp.mappedfile; mkfifo tmp.fifofifo12",
          "mkdir tmp.folder1234 systemd-private-abc; echo kept > tmp.folder1234/tmp.AbCdEfGhIj",
          "echo kept > tmp.forothers1; chmod 644 tmp.forothers1",
          "echo kept > tmp.young12345; echo kept > tmp.futuretime; touch -d 2020-01-01 tmp.young12345",
          "cat /dev/zero > filling 2>/dev/null || true",
        ].join("\n"),
      );
      await small.setTimes(await inodesOf("/var/tmp", [...old, ...spared]), longAgo);
      await small.setTimes(await inodesOf("/var/tmp", ["tmp.futuretime"]), Date.parse("2037-01-01") / 1000);
      // A program that runs is mapped, and nobody has it open.
      await session.writeUnits({
        "holder.service": [
          "[Service]",
          "Type=exec",
          "ExecStart=/var/tmp/tmp.mappedfile infinity",
          "StandardInput=file:/var/tmp/tmp.openedfile",
        ],
      });
      await session.shell("systemctl start holder.service");
      // On another file system, which is not full.
      await session.shell("touch /var/cache/apt/archives/elsewhere_1_all.deb");
    });

    afterAll(async () => {
      await session.shell("systemctl stop holder.service; rm -f /var/cache/apt/archives/elsewhere_1_all.deb");
      await dropDisk();
    });

    it("removes files that are old and known, and nothing else", async () => {
      // A run that had started before may still be under way.
      await eventually(async () => {
        expect(await check("disk_space")).toMatchObject({ status: "fail", fixable: true, fix_id: "disk_cleanup" });
      });
      const before = await fileTree(session);
      expect(await plan("disk_space")).toMatchObject({
        steps: ["remove 2 old temporary files (25.0 MiB: ccAbCdEf.o, tmp.AbCdEfGhIj) from /var/tmp"],
        frees_bytes: 25 * 2 ** 20,
        risk: "moderate",
      });
      expect(changesSince(before, await fileTree(session), ownTraces)).toEqual(unchanged);

      expect(await fix("disk_space")).toMatchObject({
        success: true,
        steps: [{ status: "done", message: "2 files removed, 25.0 MiB freed" }],
        check: { status: "pass" },
      });
      expect(changesSince(before, await fileTree(session), ownTraces)).toEqual({
        ...unchanged,
        removed: ["/var/tmp/ccAbCdEf.o", "/var/tmp/tmp.AbCdEfGhIj"],
      });
      expect(await session.shell("grep -c root /etc/passwd")).not.toBe("0\n");
    });
  });

  describe("disk_cleanup of downloaded packages", () => {
    const archives = "/var/cache/apt/archives";
    const build = async (): Promise<void> => {
      await session.shell(
        [
          "set -e; mkdir -p /root/pkg/DEBIAN /root/pkg/opt",
          "printf 'Package: ballast\\nVersion: 1\\nArchitecture: all\\nMaintainer: x <x@example.org>\\nDescription: ballast\\n' > /root/pkg/DEBIAN/control",
          "head -c 8M /dev/urandom > /root/pkg/opt/ballast",
          `mkdir -p -m 0700 ${archives}/partial; chown _apt ${archives}/partial; rmdir ${archives}/lost+found 2>/dev/null || true`,
          `for n in 1 2 3 4 5 6; do dpkg-deb -Znone --build /root/pkg ${archives}/ballast_"$n"_all.deb >/dev/null 2>&1 || break; done`,
          `cat /dev/zero > ${archives}/partial/half_1_all.deb 2>/dev/null || true`,
        ].join("\n"),
      );
    };
    beforeAll(async () => {
      await newDisk(40, archives);
      await build();
    });
    afterAll(dropDisk);

    it("fails at once while apt is at work, and names who holds the lock", async () => {
      const lock = [
        "import fcntl, time",
        `lock = open('${archives}/lock', 'w')`,
        "fcntl.lockf(lock, fcntl.LOCK_EX)",
        "open('/run/locked', 'w').close()",
        "time.sleep(1000)",
      ].join("\n");
      await session.host.writeFile("/usr/local/lib/locker.py", lock);
      await session.shell("systemd-run --quiet --unit=locker python3 /usr/local/lib/locker.py");
      await eventually(() => session.shell("test -e /run/locked"));
      const before = await fileTree(session);
      expect(await fix("disk_space")).toMatchObject({
        success: false,
        steps: [
          {
            status: "failed",
            message: expect.stringMatching(
              /Could not get lock .*archives\/lock\. It is held by process \d+ \(python3\)/,
            ),
          },
        ],
      });
      expect(changesSince(before, await fileTree(session), ownTraces)).toEqual(unchanged);
      await session.shell("systemctl stop locker.service");
    });

    it("removes them by apt, and nothing else of apt", async () => {
      await failsAt(archives);
      await session.shell("mkdir -p /var/lib/apt/lists/partial && touch /var/lib/apt/lists/partial/half");
      await session.shell("touch /var/cache/apt/pkgcache.bin");
      const before = await fileTree(session);
      const { steps, frees_bytes: freed = 0 } = await plan("disk_space");
      expect(steps).toEqual([
        expect.stringMatching(
          /^remove \d downloaded packages \(\d\d\.\d MiB: ballast_1_all\.deb, .*\) from \/var\/cache/,
        ),
      ]);
      expect(freed).toBeGreaterThan(30e6);
      expect(changesSince(before, await fileTree(session), ownTraces)).toEqual(unchanged);

      expect(await fix("disk_space")).toMatchObject({ success: true, check: { status: "pass" } });
      const { added, removed, changed } = changesSince(before, await fileTree(session), ownTraces);
      expect(removed).toContain(`${archives}/ballast_1_all.deb`);
      expect(removed).toContain(`${archives}/partial/half_1_all.deb`);
      expect(removed.filter((path) => !/^\/var\/cache\/apt\/archives\/.*\.deb$/.test(path))).toEqual([]);
      expect([added, changed.filter((path) => path !== `${archives}/lock`)]).toEqual([[], []]);
    });
  });

  describe("with a journal that has grown", () => {
    const ownDirectory = "/var/log/journal/$(cat /etc/machine-id)";
    /** Real archived files: entries are written and rotated, then the file is there so many times under its own names. */
    let made = 0;
    // journald keeps to a tenth of its disk unless set otherwise, as on a host whose limit was raised.
    beforeAll(() =>
      session.host.writeFile(
        "/etc/systemd/journald.conf.d/grown.conf",
        "[Journal]\nSystemMaxUse=4G\nSystemMaxFileSize=64M\nSystemKeepFree=1M\n",
      ),
    );
    const grow = async (directory: string, copies: number): Promise<void> => {
      made += copies;
      await session.shell(
        [
          "set -e",
          "head -c 3000000 /dev/urandom | base64 -w 2000 | logger; journalctl --sync; journalctl --rotate",
          `mkdir -p ${directory}; one=$(ls -t ${ownDirectory}/system@*.journal | head -1)`,
          `for n in $(seq ${made - copies + 1} ${made}); do`,
          `cp --reflink=never $one ${directory}/$(printf 'system@%032x-%016x-%016x.journal' $n $n $n); done`,
        ].join("\n"),
      );
    };
    const limits = [...quiet, "    journal_size: {warn: 0.08, fail: 0.12}"];

    it("vacuum_journal brings it below the threshold, damaged files included", async () => {
      await configure(limits);
      await grow(ownDirectory, 18);
      // Damaged ones go with the others, as long as they are named like them.
      const damaged = "system@0000000000000000-0000000000000000.journal~";
      await session.shell(`head -c 5000000 /dev/urandom > ${ownDirectory}/${damaged}`);
      expect(await check("journal_size")).toMatchObject({ status: "fail", fix_id: "vacuum_journal" });
      const before = await fileTree(session);
      const own = {
        ignore: [/^\/var\/log\/journal\/[0-9a-f]+\/system\.journal$/, /^\/var\/lib\/systemd\//],
      };
      expect(await plan("journal_size")).toMatchObject({
        steps: [
          "begin new journal files (journalctl --rotate)",
          "remove the oldest archived journal files until the journal takes at most 61.0 MiB",
        ],
        frees_bytes: expect.any(Number),
      });
      expect(changesSince(before, await fileTree(session), own)).toEqual(unchanged);

      const fixed = await fix("journal_size");
      expect(fixed).toMatchObject({ success: true, check: { status: "pass" } });
      expect(fixed.steps[1]?.message).toMatch(/^\d+(\.\d)? MiB freed; the journal takes \d\d\.\d MiB$/);
      const { removed, changed } = changesSince(before, await fileTree(session), own);
      expect(removed.filter((path) => !/\/system@.*\.journal$/.test(path))).toEqual([
        expect.stringContaining(`/${damaged}`),
      ]);
      expect(changed).toEqual([]);
    });
  });
});

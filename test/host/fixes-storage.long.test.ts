import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "./support/eventually.ts";
import { changesSince, fileTree } from "./support/file-tree.ts";
import { fixesOf, ownTraces, unchanged } from "./support/fixes.ts";
import { describeOnHost } from "./support/session.ts";
import type { SmallDisk } from "./support/small-disk.ts";
import { createSmallDisk } from "./support/small-disk.ts";

describeOnHost("fixes of storage", (session) => {
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

    it("removes those that are old and known, and nothing else", async () => {
      // A run that had begun before may still be under way.
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

    it("does nothing where all that is left has to stay", async () => {
      await session.shell("cat /dev/zero > /var/tmp/more 2>/dev/null || true");
      const before = await fileTree(session);
      expect(await fix("disk_space")).toMatchObject({
        success: false,
        message: "disk_cleanup did nothing: there is nothing on /var/tmp that can be removed without loss",
        steps: [],
      });
      expect(await plan("disk_space")).toMatchObject({ steps: [] });
      expect(changesSince(before, await fileTree(session), ownTraces)).toEqual(unchanged);
    });

    it("takes one that is no longer open", async () => {
      await session.shell("systemctl stop holder.service");
      expect(await plan("disk_space")).toMatchObject({
        steps: [expect.stringMatching(/^remove 2 old temporary files \(.*: tmp\.mappedfile, tmp\.openedfile\) from/)],
      });
    });

    it("leaves a folder alone in which others can move what is not theirs", async () => {
      await session.shell("chmod 0777 /var/tmp");
      expect(await plan("disk_space")).toMatchObject({ steps: [] });
      await session.shell("chown nobody /var/tmp && chmod 1777 /var/tmp");
      expect(await plan("disk_space")).toMatchObject({ steps: [] });
      await session.shell("chown root /var/tmp");
    });

    it("leaves a folder alone that a link leads to", async () => {
      await disk?.unmount();
      await disk?.mount("/srv/aside");
      await session.shell("mv /var/tmp /var/tmp.was && ln -s /srv/aside /var/tmp");
      await failsAt("/srv/aside");
      expect(await plan("disk_space")).toMatchObject({ steps: [] });
      await session.shell("rm /var/tmp && mv /var/tmp.was /var/tmp");
      await disk?.unmount();
      await disk?.mount("/var/tmp");
    });

    it("fails truthfully where the disk cannot be written", async () => {
      await session.shell("mount -o remount,ro /var/tmp");
      const before = await fileTree(session);
      expect(await fix("disk_space")).toMatchObject({
        success: false,
        steps: [
          {
            status: "failed",
            message: "2 of 2 files could not be removed (/var/tmp/tmp.mappedfile: EROFS)",
          },
        ],
        check: { status: "fail" },
      });
      expect(changesSince(before, await fileTree(session), ownTraces)).toEqual(unchanged);
      await session.shell("mount -o remount,rw /var/tmp");
      expect(await fix("disk_space")).toMatchObject({
        steps: [{ message: expect.stringMatching(/^2 files removed/) }],
      });
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

    it("waits for nobody: where apt is at work it fails and says who holds the lock", async () => {
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

    it("leaves them where something else lies among them", async () => {
      await session.shell(`: > ${archives}/notes.txt`);
      const reason = expect.stringContaining(`in ${archives} cannot be removed while notes.txt`);
      expect(await plan("disk_space")).toMatchObject({ steps: [], reason });
      await session.shell(`rm ${archives}/notes.txt`);
    });

    it("removes them by way of apt, and nothing else of apt's", async () => {
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
    const ownFolder = "/var/log/journal/$(cat /etc/machine-id)";
    /** Real archived files: entries are written and rotated, then the file is there so many times under its own names. */
    let made = 0;
    // journald keeps to a tenth of its disk unless it is told otherwise, as on a host whose limit was raised.
    beforeAll(() =>
      session.host.writeFile(
        "/etc/systemd/journald.conf.d/grown.conf",
        "[Journal]\nSystemMaxUse=4G\nSystemMaxFileSize=64M\nSystemKeepFree=1M\n",
      ),
    );
    const grow = async (folder: string, copies: number): Promise<void> => {
      made += copies;
      await session.shell(
        [
          "set -e",
          "head -c 3000000 /dev/urandom | base64 -w 2000 | logger; journalctl --sync; journalctl --rotate",
          `mkdir -p ${folder}; one=$(ls -t ${ownFolder}/system@*.journal | head -1)`,
          `for n in $(seq ${made - copies + 1} ${made}); do`,
          `cp --reflink=never $one ${folder}/$(printf 'system@%032x-%016x-%016x.journal' $n $n $n); done`,
        ].join("\n"),
      );
    };
    const filesIn = async (folder: string): Promise<number> => Number(await session.shell(`ls ${folder} | wc -l`));
    const limits = [...quiet, "    journal_size: {warn: 0.08, fail: 0.12}"];

    it("disk_cleanup keeps 100 MiB of it", async () => {
      const small = await newDisk(200, "/var/log/journal");
      await session.shell("rmdir /var/log/journal/lost+found; systemctl restart systemd-journald; journalctl --flush");
      await grow(ownFolder, 18);
      await session.shell("cat /dev/zero > /var/log/journal/filling 2>/dev/null || true");
      await session.shell(`truncate -s -1M /var/log/journal/filling`);
      await failsAt("/var/log/journal");
      expect(await plan("disk_space")).toMatchObject({
        steps: ["remove the oldest archived journal files from /var/log/journal until they take at most 100 MiB"],
      });
      expect(await fix("disk_space")).toMatchObject({ success: true, steps: [{ status: "done" }] });
      const left = Number(await session.shell(`du -B1 -c ${ownFolder}/system@*.journal | tail -1 | cut -f1`));
      expect(left).toBeGreaterThan(80e6);
      expect(left).toBeLessThan(101 * 1024 ** 2);
      await session.shell(
        "systemctl stop systemd-journald.socket systemd-journald-dev-log.socket systemd-journald 2>&1",
      );
      await small.unmount();
      small.dispose();
      disk = undefined;
      await session.shell("systemctl start systemd-journald.socket systemd-journald; journalctl --flush");
    });

    it("vacuum_journal brings it below the threshold", async () => {
      await configure(limits);
      await grow(ownFolder, 18);
      // Damaged ones go with the others, as long as they are named like them.
      const damaged = "system@0000000000000000-0000000000000000.journal~";
      await session.shell(`head -c 5000000 /dev/urandom > ${ownFolder}/${damaged}`);
      expect(await check("journal_size")).toMatchObject({ status: "fail", fix_id: "vacuum_journal" });
      const before = await fileTree(session);
      // snapperd, which apt has started before, writes that it ends when nobody has asked it for a minute.
      const own = {
        ignore: [
          /^\/var\/log\/journal\/[0-9a-f]+\/system\.journal$/,
          /^\/var\/lib\/systemd\//,
          /^\/var\/log\/snapper\.log$/,
        ],
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

    it("vacuum_journal removes nothing where files of other machines and strange ones are what is too much", async () => {
      await grow("/var/log/journal/0123456789abcdef0123456789abcdef", 18);
      await session.shell(`cd ${ownFolder}; cp $(ls -S system@*.journal | head -1) strange.journal`);
      expect(await check("journal_size")).toMatchObject({ status: "fail" });
      const own = (await session.shell(`cd ${ownFolder}; ls system@*`)).trim().split("\n");
      expect(await plan("journal_size")).toMatchObject({ frees_bytes: 0 });
      const result = await fix("journal_size");
      expect(result).toMatchObject({ success: false, check: { status: "fail" } });
      expect(result.steps[1]?.message).toMatch(
        /^nothing was removed: .* MiB are in files that are in use, of other machines, or not named by journald/,
      );
      expect((await session.shell(`cd ${ownFolder}; ls system@*`)).split("\n")).toEqual(expect.arrayContaining(own));
      expect(await filesIn("/var/log/journal/0123456789abcdef0123456789abcdef")).toBe(18);
      expect(await filesIn(`${ownFolder}/strange.journal`)).toBe(1);
    });

    it("inspects and vacuums the folder that settings name, and no other", async () => {
      await session.shell("mv /var/log/journal/0123456789abcdef0123456789abcdef /srv/collected");
      await session.shell("mkdir /srv/journals && mv /srv/collected /srv/journals/0123456789abcdef0123456789abcdef");
      await configure(["journal: {dir: /srv/journals}", ...limits]);
      const ownBefore = await session.shell(`ls ${ownFolder}`);
      expect(await check("journal_size")).toMatchObject({ status: "fail", details: { files: 18, memory_bytes: 0 } });
      expect(await plan("journal_size")).toMatchObject({
        steps: ["remove the oldest archived journal files until the journal takes at most 61.0 MiB"],
      });
      await session.shell("mount --bind /srv/journals /srv/journals && mount -o remount,bind,ro /srv/journals");
      expect(await fix("journal_size")).toMatchObject({
        success: false,
        steps: [
          {
            status: "failed",
            message: expect.stringMatching(
              /^journalctl says: Failed to delete archived journal .*: Read-only file system$/,
            ),
          },
        ],
        check: { status: "fail" },
      });
      // The service keeps files open that it has read by this way since.
      await session.shell("umount --lazy /srv/journals");
      expect(await fix("journal_size")).toMatchObject({ success: true, check: { status: "pass" } });
      expect(await filesIn("/srv/journals/0123456789abcdef0123456789abcdef")).toBeLessThan(12);
      expect(await session.shell(`ls ${ownFolder}`)).toBe(ownBefore);
    });
  });
});

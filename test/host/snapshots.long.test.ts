import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { PackageChange } from "#domain/ports/packages.ts";
import type { RollbackOutcome, SnapshotDiff } from "#domain/ports/snapshots.ts";
import { createRandom } from "../support/random.ts";
import { seed } from "../support/seed.ts";
import { runCommand } from "./commands.ts";
import { changesSince, fileTree } from "./support/file-tree.ts";
import { kills } from "./support/kills.ts";
import type { Package } from "./support/package-snapshots.ts";
import { buildPackages, killedRollback, snapshots, useRepository } from "./support/package-snapshots.ts";
import { describeOnHost } from "./support/session.ts";

const one = "1:1.0~rc1-1";
const two = "1:2.0-1";
const repository = "/srv/repository";
const oldPackages = "/srv/old";
const id = "20260131-235959";

/** What each version of the packages of the test is. */
const app: Omit<Package, "version"> = {
  name: "app",
  conffiles: { "/etc/app/app.conf": "from the package\n", "/etc/app/untouched.conf": "same\n" },
};
const before: readonly Package[] = [
  {
    ...app,
    version: one,
    control: { Depends: `app-data (= ${one})` },
    files: { "/usr/bin/app": "one\n" },
    scripts: { postinst: "ln -sf app /usr/bin/app-link", prerm: "rm -f /usr/bin/app-link" },
  },
  { name: "app-data", version: one, architecture: "all", files: { "/usr/share/app/data": "one\n" } },
  { name: "moved-a", version: one, files: { "/usr/share/moved/file": "one\n", "/usr/share/moved/a": "a\n" } },
  { name: "moved-b", version: one, files: { "/usr/share/moved/b": "b\n" } },
  // The same the other way round: whichever package dpkg takes first, one of the files is in danger.
  { name: "shifted-b", version: one, files: { "/usr/share/moved/other": "one\n", "/usr/share/moved/d": "d\n" } },
  { name: "shifted-a", version: one, files: { "/usr/share/moved/c": "c\n" } },
  { name: "switched", version: one, architecture: "all", files: { "/usr/share/switched": "one\n" } },
  { name: "pinned", version: one, files: { "/usr/share/pinned": "one\n" } },
  { name: "gone", version: one, conffiles: { "/etc/gone.conf": "gone\n" }, files: { "/usr/share/gone file": "one\n" } },
  { name: "left", version: one, conffiles: { "/etc/left.conf": "left\n" }, scripts: { postrm: "true" } },
  {
    name: "stubborn",
    version: one,
    files: { "/usr/share/stubborn": "one\n" },
    scripts: { postinst: "if test -e /run/stubborn; then echo 'I will not' >&2; exit 3; fi" },
  },
];
const after: readonly Package[] = [
  {
    ...app,
    version: two,
    control: { Depends: `app-data (= ${two}), fresh` },
    files: { "/usr/bin/app": "two\n" },
    conffiles: { "/etc/app/app.conf": "from the new package\n", "/etc/app/new.conf": "new\n" },
  },
  { name: "app-data", version: two, architecture: "all", files: { "/usr/share/app/data": "two\n" } },
  { name: "fresh", version: two, conffiles: { "/etc/fresh.conf": "fresh\n" }, files: { "/usr/share/fresh": "two\n" } },
  { name: "moved-a", version: two, files: { "/usr/share/moved/a": "a\n" } },
  {
    name: "moved-b",
    version: two,
    control: { Replaces: `moved-a (<< ${two})`, Breaks: `moved-a (<< ${two})` },
    files: { "/usr/share/moved/file": "two\n", "/usr/share/moved/b": "b\n" },
  },
  { name: "shifted-b", version: two, files: { "/usr/share/moved/d": "d\n" } },
  {
    name: "shifted-a",
    version: two,
    control: { Replaces: `shifted-b (<< ${two})`, Breaks: `shifted-b (<< ${two})` },
    files: { "/usr/share/moved/other": "two\n", "/usr/share/moved/c": "c\n" },
  },
  { name: "switched", version: two, files: { "/usr/share/switched": "two\n" } },
  { name: "pinned", version: two, files: { "/usr/share/pinned": "two\n" } },
  { name: "extra", version: two, conffiles: { "/etc/extra.d/extra": "extra\n" } },
  { name: "stubborn", version: two, files: { "/usr/share/stubborn": "two\n" } },
];
const change = (name: string, to: string | null = two, architecture = "amd64"): PackageChange => {
  return { name, architecture, from: one, to, isSecurity: false };
};
const changes: readonly PackageChange[] = [
  change("app"),
  change("app-data", two, "all"),
  change("moved-a"),
  change("moved-b"),
  change("shifted-a"),
  change("shifted-b"),
  change("switched"),
  change("pinned"),
  change("gone", null),
  change("stubborn"),
  { ...change("fresh"), from: null },
];
const names = before.map(({ name }) => name);

/** Everything of /etc but what snapshots keep out, with what it holds. */
const etcState =
  "cd /etc && find . '(' -path ./ld.so.cache -o -path ./machine-id -o -path ./mtab -o -path ./adjtime -o -path ./resolv.conf" +
  " -o -path ./.updated -o -path ./steward ')' -prune -o '(' -printf '%p %y %m %U:%G %l\\n' -type f -exec sha256sum {} ';' ')' | sort";

/** The adapter is tried by itself, as root, with the directory of the service as its own: so that must be root's. */
const asRoot = { user: "root" } as const;

describeOnHost("package snapshots", asRoot, (session) => {
  const shell = (line: string): Promise<string> => session.shell(line);
  const state = async () => ({
    packages: await shell("dpkg -l"),
    manual: await shell("apt-mark showmanual"),
    held: await shell("apt-mark showhold"),
    intact: await shell(`dpkg --verify ${names.join(" ")} | grep -v ' c ' || true`),
    moved: await shell("cat /usr/share/moved/* /usr/bin/app /usr/bin/app-link '/usr/share/gone file'"),
    etc: await shell(etcState),
  });

  /** Everything that may happen to a host between a snapshot and the wish to be back. */
  const moveOn = async (): Promise<void> => {
    const quiet = "DEBIAN_FRONTEND=noninteractive apt-get -yq -o DPkg::Options::=--force-confold";
    await shell(
      `${quiet} --allow-change-held-packages full-upgrade && ${quiet} --allow-change-held-packages install extra pinned && ${quiet} purge gone left`,
    );
    await shell("apt-mark unhold pinned && apt-mark auto app && apt-mark manual app-data");
    await shell("echo more >> /etc/hosts; rm -r /etc/logrotate.d; chmod 700 /etc/cron.d; chown 7:7 /etc/profile");
    await shell("rm /etc/issue && mkdir /etc/issue && echo x > /etc/issue/x; ln -sf /etc/shadow /etc/hostname");
    await shell(
      "rm /etc/localtime /etc/app/untouched.conf; mkdir -p /etc/new/deep; echo 'a b' > '/etc/new/deep/ü \"x\"'",
    );
    expect(await shell(`dpkg-query -W -f '\${Version} ' app app-data moved-a pinned stubborn`)).toBe(
      `${two} `.repeat(5),
    );
  };

  const rollback = (directory: string) => snapshots<RollbackOutcome>(session, { directory, verb: "rollback", id });
  let original: Awaited<ReturnType<typeof state>>;

  beforeAll(async () => {
    await buildPackages(session, repository, before);
    await useRepository(session, repository);
    await shell(`apt-get -yq install ${names.join(" ")} && apt-get -yq remove left && apt-mark auto app-data`);
    await shell("apt-mark hold pinned && echo 'changed by hand' > /etc/app/app.conf");
    await shell("mkdir -m 700 -p /var/lib/steward");
    original = await state();
    expect(original.packages).toMatch(/^rc {2}left/m);
    expect(original.packages).toMatch(/^hi {2}pinned/m);
    expect(
      (await snapshots(session, { directory: "/var/lib/steward/repository", verb: "create", id, changes })).error,
    ).toBe(undefined);
    // From here on nobody has the old versions.
    await shell(`cp -r ${repository} ${oldPackages} && rm ${repository}/*.deb`);
    await buildPackages(session, repository, after);
    await shell(`cd ${repository} && apt-ftparchive packages . > Packages && apt-get -q update`);
  });

  const origins = async (directory: string): Promise<string> =>
    shell(`cd ${directory}/packages && grep -ho '"origin":"[a-z]*"' -- *[4l].json | sort | uniq -c`);

  const returns = async (directory: string): Promise<void> => {
    await moveOn();
    const diff = await snapshots<SnapshotDiff>(session, { directory, verb: "diff", id });
    expect(diff.result?.packages).toContainEqual({ name: "app", architecture: "amd64", from: one, to: two });
    expect(diff.result?.packages).toContainEqual({ name: "gone", architecture: "amd64", from: one, to: null });
    expect(diff.result?.packages).toContainEqual({ name: "extra", architecture: "amd64", from: null, to: two });
    expect(diff.result?.files).toContainEqual({ path: "/etc/hosts", change: "modified", isForeign: true });
    expect(diff.result?.files).toContainEqual({ path: '/etc/new/deep/ü "x"', change: "added", isForeign: true });
    const { result, error } = await rollback(directory);
    expect([error, result]).toEqual([undefined, expect.objectContaining({ isDone: true, reason: "" })]);
    expect(result?.packages).toContainEqual({ name: "app", architecture: "amd64", from: two, to: one });
    expect(result?.filesRestored).toBe(diff.result?.files.length);
    expect(await state()).toEqual(original);
    expect((await snapshots(session, { directory, verb: "diff", id })).result).toEqual({ packages: [], files: [] });
    expect(
      await shell("find / -xdev -name '*.dpkg-*' -newer /srv/old -not -path '/var/lib/dpkg/*' -not -path '/proc/*'"),
    ).toBe("");
  };

  it("return with files from the repository that was", async () => {
    const directory = "/var/lib/steward/repository";
    expect(await origins(directory)).toMatch(/^ +10 "origin":"repository"\n$/);
    await returns(directory);
  });

  it("return with files from the cache", async () => {
    const directory = "/var/lib/steward/cache";
    await shell(
      `cd ${oldPackages} && for f in *.deb; do cp $f /var/cache/apt/archives/$(echo $f | sed 's/_1:/_1%3a/; s/_1\\.0/_1%3a1.0/'); done`,
    );
    await snapshots(session, { directory, verb: "create", id, changes });
    await shell("rm /var/cache/apt/archives/*.deb");
    expect(await origins(directory)).toMatch(/^ +10 "origin":"cache"\n$/);
    await returns(directory);
  });

  it("return with files put together from what was installed, kept on ext4", async () => {
    const directory = "/var/lib/steward/small/snapshots";
    const dir = mkdtempSync(join(tmpdir(), "steward-disk-"));
    try {
      const image = join(dir, "image");
      writeFileSync(image, "");
      truncateSync(image, 64 * 2 ** 20);
      await runCommand(["mkfs.ext4", "-q", image]);
      const device = (await runCommand(["losetup", "--find", "--show", image])).stdout.trim();
      try {
        await shell(`test -e ${device} || mknod ${device} b 7 ${/\d+$/.exec(device)?.[0] ?? ""}`);
        await shell(`mkdir -p /var/lib/steward/small && mount ${device} /var/lib/steward/small`);
      } finally {
        // The kernel lets go of it when the guest unmounts it, or ends.
        await runCommand(["losetup", "--detach", device]);
      }
    } finally {
      rmSync(dir, { recursive: true });
    }
    expect((await snapshots(session, { directory, verb: "create", id, changes })).error).toBe(undefined);
    expect(await origins(directory)).toMatch(/^ +10 "origin":"installed"\n$/);
    await returns(directory);
    await shell("umount /var/lib/steward/small");
  });

  it("put real packages together as they are: kinds, modes, owners, times, contents", async () => {
    const directory = "/var/lib/steward/real";
    const wanted =
      "base-files base-passwd bash coreutils dbus debconf dpkg libc6 libpam-modules login mount openssh-server passwd systemd tar util-linux";
    const list = await shell(`dpkg-query -W -f '\${Package} \${Architecture} \${Version}\\n' ${wanted}`);
    const all = list
      .trim()
      .split("\n")
      .map((line): PackageChange => {
        const [name = "", architecture = "", from = ""] = line.split(" ");
        return { name, architecture, from, to: null, isSecurity: false };
      });
    expect((await snapshots(session, { directory, verb: "create", id, changes: all })).error).toBe(undefined);
    const listed = `dpkg -L ${wanted} | sort -u | while read -r path; do if test -f "$path"; then printf '%s\\0' "$path"; fi; done`;
    const entries = `${listed} | xargs -0 stat -c '%n %F %a %u:%g %s %Y %N' -- && ${listed} | xargs -0 sha256sum --`;
    // What their own scripts write again is below /etc.
    const outside = async () => (await shell(entries)).split("\n").filter((line) => !/^\/etc\/| \/etc\//.test(line));
    const before = [await outside(), await shell("dpkg -l"), await shell(`dpkg --verify ${wanted} || true`)];
    expect(before[0]?.length).toBeGreaterThan(1_000);
    await shell(
      `cd ${directory}/packages && for note in *l.json *4.json; do hash=$(sed 's/.*sha256":"//; s/".*//' $note); ` +
        `ln ../objects/$hash ../$(basename $note .json).deb; done; dpkg --force-confold --force-confdef --install ../*.deb`,
    );
    expect([await outside(), await shell("dpkg -l"), await shell(`dpkg --verify ${wanted} || true`)]).toEqual(before);
  });

  it("keep changes of an administrator, at the next update too", async () => {
    // The last rollback put packages together from what was installed.
    await shell("apt-get -yq -o DPkg::Options::=--force-confold install app");
    expect(await shell("cat /etc/app/app.conf")).toBe("changed by hand\n");
    const { result } = await rollback("/var/lib/steward/repository");
    expect(result).toMatchObject({ isDone: true });
    expect(await state()).toEqual(original);
  });

  describe("that cannot be used", () => {
    const directory = "/var/lib/steward/repository";
    const refusesUntouched = async (inDirectory: string, reason: RegExp): Promise<void> => {
      const tree = await fileTree(session);
      const { error } = await snapshots(session, { directory: inDirectory, verb: "rollback", id });
      expect(error).toMatch(reason);
      const changed = changesSince(tree, await fileTree(session), { ignore: [/^\/var\/log\/journal/, /^\/tmp/] });
      expect(changed).toEqual({ added: [], removed: [], changed: [] });
    };

    it("are refused for one damaged byte, and nothing is touched", async () => {
      await moveOn();
      const object = (await shell(`ls -S ${directory}/objects | tail -20 | head -1`)).trim();
      await shell(`cp -a ${directory}/objects/${object} /root/kept && printf x >> ${directory}/objects/${object}`);
      await refusesUntouched(directory, /^SnapshotUnusable: .* is damaged or lost/);
      await shell(`rm ${directory}/objects/${object}`);
      await refusesUntouched(directory, /^SnapshotUnusable: .* is damaged or lost/);
      await shell(`cp -a /root/kept ${directory}/objects/${object}`);
      expect((await snapshots(session, { directory, verb: "verify", id })).error).toBe(undefined);
      await rollback(directory);
      expect(await state()).toEqual(original);
    });
  });

  it("are not returned to while another process holds the lock, which is named, and nothing is touched", async () => {
    const directory = "/var/lib/steward/repository";
    await moveOn();
    const now = async () => [await shell("dpkg -l"), await shell(etcState)];
    const moved = await now();
    const holding =
      "import fcntl, time; f = open('/var/lib/dpkg/lock-frontend', 'w'); fcntl.lockf(f, fcntl.LOCK_EX); print('held', flush=True); time.sleep(60)";
    await session.host.writeFile("/opt/hold.py", holding);
    await shell("systemd-run --quiet --unit=holder -p StandardOutput=file:/run/holder python3 /opt/hold.py");
    await shell("until grep -q held /run/holder; do sleep 0.05; done");
    const { error } = await snapshots(session, { directory, verb: "rollback", id });
    await shell("systemctl stop holder");
    expect(error).toMatch(/^PackagesLocked: python3 \(process \d+\) holds the lock/);
    expect(await now()).toEqual(moved);
    expect((await rollback(directory)).result).toMatchObject({ isDone: true });
    expect(await state()).toEqual(original);
  });

  it("are returned to by dpkg alone where apt refuses, without losing files that go back to another package", async () => {
    const directory = "/var/lib/steward/broken";
    const broken: Package = { name: "broken", version: one, control: { Depends: "nowhere-to-be-found" } };
    await buildPackages(session, "/srv/broken", [broken]);
    await shell("dpkg --force-depends --install /srv/broken/*.deb");
    const beforehand = await state();
    expect((await snapshots(session, { directory, verb: "create", id, changes })).error).toBe(undefined);
    await shell(`dpkg --force-confold --force-breaks --install ${repository}/*.deb && dpkg --purge gone left`);
    const { result, lines } = await rollback(directory);
    expect(result).toMatchObject({ isDone: true, reason: "" });
    expect(lines).toContainEqual(expect.stringMatching(/^apt-get check: .*nmet dependencies/));
    expect(await state()).toEqual(beforehand);
    await shell("dpkg --purge broken");
    expect(await state()).toEqual(original);
  });

  it("report a package that cannot be configured during a rollback, and finish once it can", async () => {
    const directory = "/var/lib/steward/repository";
    await moveOn();
    await shell("touch /run/stubborn");
    const { result } = await rollback(directory);
    expect(result).toMatchObject({ isDone: false, reason: expect.stringMatching(/stubborn.*I will not/) });
    expect(await shell("dpkg -l stubborn")).toMatch(/^iF {2}stubborn +1:1\.0/m);
    await shell("rm /run/stubborn");
    expect((await rollback(directory)).result).toMatchObject({ isDone: true });
    expect(await state()).toEqual(original);
  });

  it("are returned to whenever the process that does it was killed, the package manager with it or not", async () => {
    const directory = "/var/lib/steward/repository";
    const { fraction: random } = createRandom(seed);
    for (let round = 0; round < kills; round++) {
      await moveOn();
      for (let kill = 0; kill < 2; kill++) {
        await killedRollback(session, { directory, id, afterMs: 200 + random() * 1_000 });
        if (round % 2 === 1) await shell("systemctl kill --signal=KILL 'steward-packages-*' 2>&1 || true");
      }
      const { result, error } = await rollback(directory);
      expect([error, result]).toEqual([undefined, expect.objectContaining({ isDone: true })]);
      expect(await state()).toEqual(original);
    }
    expect(await shell(`ls ${directory}/work`)).toBe("");
  });

  it("take their files along when they are removed", async () => {
    const directory = "/var/lib/steward/repository";
    expect((await snapshots(session, { directory, verb: "remove", id })).error).toBe(undefined);
    expect(await shell(`find ${directory} -type f`)).toBe("");
  });
});

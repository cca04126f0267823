import { beforeAll, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { makePackageSources, type PackageRecipe } from "./support/package-sources.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";

const at = (name: string, rest: Partial<PackageRecipe> = {}): PackageRecipe => ({
  name,
  version: "1.0",
  place: "main",
  ...rest,
});

const recipes = [
  at("libtool-of-test"),
  at("tool-of-test", { control: ["Depends: libtool-of-test", "Provides: any-tool"], config: "as it came\n" }),
  at("tool-addon", { control: ["Depends: tool-of-test"] }),
  at("breaking", { postinst: ["touch /srv/broken; systemctl restart vital || true"] }),
];
/** Takes a lock as apt does, and gives it back after a second. */
const locker = `import fcntl, os, time
lock = open("/var/lib/dpkg/lock-frontend", "w")
fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
open("/run/locked", "w").close()
time.sleep(1)
os.unlink("/run/locked")`;
const dryRun = { dry_run: true } as const;

describeOnHost("packages come and go", (session) => {
  const { shell } = session;
  const state = async (name: string): Promise<string> =>
    (await shell(`dpkg-query -W -f '\${db:Status-Status}' ${name} 2>/dev/null || echo absent`)).trim();
  const body = (...names: string[]) => ({ body: { packages: names } });

  beforeAll(async () => {
    await session.host.startService({ config: "updates: { guard_minutes: 0.1 }\n" });
    await session.service.restart();
    await makePackageSources(session, recipes);
    await session.writeUnits({
      "vital.service": ["[Service]", "ExecStart=/bin/sh -c 'test ! -e /srv/broken && exec sleep infinity'"],
    });
    await shell("systemctl start vital");
  });

  it("found and shown as apt shows them", async () => {
    for (const words of ["test", "any-tool", "LIBTOOL made"]) {
      const its = (await shell(`apt-cache search ${words}`))
        .split("\n")
        .flatMap((line) => line.split(" - ", 1)[0] || []);
      const { packages } = await session.api.searchPackages({ query: { search: words, limit: 1000 } });
      expect([words, packages.map(({ name }) => name).sort()]).toEqual([words, its.sort()]);
    }
    const policy = await shell("apt-cache policy tool-of-test dpkg");
    for (const name of ["tool-of-test", "dpkg"]) {
      const { installed, candidate } = await session.api.getPackage({ params: { name } });
      expect(policy).toContain(
        `${name}:\n  Installed: ${installed?.version ?? "(none)"}\n  Candidate: ${candidate ?? "(none)"}\n`,
      );
    }
  });

  it("with what they need, and go again by a rollback", async () => {
    expect(await session.api.installPackages({ ...body("tool-of-test"), query: dryRun })).toMatchObject({
      steps: ["take a snapshot", "install libtool-of-test 1.0", "install tool-of-test 1.0"],
    });
    const { snapshot_id: snapshot, ...installed } = await session.api.installPackages(body("tool-of-test"));
    expect(installed).toMatchObject({ success: true, packages_changed: 2, error: null });
    expect((await shell("apt-mark showmanual")).split("\n")).toContain("tool-of-test");
    expect((await shell("apt-mark showauto")).split("\n")).toContain("libtool-of-test");
    const shown = await session.api.getPackage({ params: { name: "libtool-of-test" }, query: { files: true } });
    expect(shown).toMatchObject({
      installed: { reason: "automatic" },
      required_by: [{ name: "tool-of-test", relation: "depends" }],
      files: expect.arrayContaining(["/usr/share/libtool-of-test/version"]),
    });
    await session.api.rollback({ params: { snapshot_id: snapshot }, body: {} });
    expect([await state("tool-of-test"), await state("libtool-of-test")]).toEqual(["absent", "absent"]);
  });

  it("and what depends on them goes too, and comes back by a rollback", async () => {
    await session.api.installPackages(body("tool-addon"));
    const removed = await session.api.removePackages(body("tool-of-test"));
    expect(removed).toMatchObject({ success: true, packages_changed: 2 });
    expect([await state("tool-of-test"), await state("tool-addon")]).toEqual(["config-files", "absent"]);
    await session.api.rollback({ params: { snapshot_id: removed.snapshot_id }, body: {} });
    expect([await state("tool-of-test"), await state("tool-addon")]).toEqual(["installed", "installed"]);
    await session.api.purgePackages(body("tool-of-test"));
    expect([await state("tool-of-test"), await shell("ls /etc/tool-of-test.conf 2>&1 || true")]).toEqual([
      "absent",
      expect.stringContaining("No such file"),
    ]);
  });

  it("in the history of apt, whoever did it", async () => {
    const { transactions } = await session.api.listPackageHistory();
    expect(transactions[0]).toMatchObject({
      packages: expect.arrayContaining([
        expect.objectContaining({ name: "tool-of-test", action: "purge", from: "1.0" }),
      ]),
    });
  });

  it("are held and let go, as apt-mark and the check for updates tell, once nobody else has the lock", async () => {
    const names = ["dash", "grep", "sed"];
    const { key } = await session.api.createKey({
      body: { name: "holder", scopes: ["packages:hold", "updates:read"] },
    });
    const client = createClient({ url: session.service.url, key });
    const held = async () => (await shell("apt-mark showhold")).split("\n").filter((line) => line !== "");
    const status = () => shell("stat -c %i:%y /var/lib/dpkg/status");
    await shell("apt-mark hold dash");
    const before = await status();
    expect(await client.holdPackages({ ...body(...names), query: dryRun })).toMatchObject({
      steps: [expect.stringMatching(/^hold grep at \d/), expect.stringMatching(/^hold sed at \d/)],
      reason: "held already: dash",
    });
    expect(await refusal(client.holdPackages(body("grep", "breaking")))).toMatchObject({ status: 400 });
    expect(await status()).toBe(before);
    await shell(`systemd-run --quiet python3 -c '${locker}' && until test -e /run/locked; do sleep 0.1; done`);
    expect(await client.holdPackages(body(...names))).toMatchObject({
      message: "held: grep, sed; held already: dash",
    });
    expect(await shell("test -e /run/locked && echo locked || echo free")).toBe("free\n");
    expect(await held()).toEqual(names);
    expect((await client.checkUpdates()).held.toSorted()).toEqual(names);
    expect(await session.api.getPackage({ params: { name: "sed" } })).toMatchObject({ installed: { held: true } });
    expect(await client.unholdPackages(body("dash", "grep"))).toMatchObject({ message: "no longer held: dash, grep" });
    expect(await held()).toEqual(["sed"]);
    await shell("apt-mark unhold sed");
    expect((await client.checkUpdates()).held).toEqual([]);
    expect(await client.unholdPackages(body(...names))).toMatchObject({ message: "not held: dash, grep, sed" });
  });

  it("and are put back where a guard finds the host worse", async () => {
    const result = await session.api.installPackages({ body: { packages: ["breaking"], guard: true } });
    expect(result).toMatchObject({ success: false, guard: { outcome: expect.stringMatching(/^rolled_back/) } });
    expect(await state("breaking")).toBe("absent");
  });

  it("but not what the host needs, nor what is no package", async () => {
    for (const name of ["dpkg", "bash", "systemd", "apt"])
      expect(await refusal(session.api.removePackages({ ...body(name), query: dryRun }))).toMatchObject({
        status: 400,
      });
    for (const name of ["any-tool-of-nobody", "tool.of.test", "tool-of-test-", "libtool-of-test+"])
      expect([name, await refusal(session.api.installPackages(body(name)))]).toMatchObject([name, { status: 400 }]);
    const { key } = await session.api.createKey({ body: { name: "one", scopes: ["packages:install:tool-of-test"] } });
    const client = createClient({ url: session.service.url, key });
    expect(await refusal(client.installPackages(body("tool-addon")))).toMatchObject({ status: 403 });
    expect(await client.installPackages(body("tool-of-test"))).toMatchObject({ success: true });
  });
});

import { beforeAll, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { eventually } from "./support/eventually.ts";
import { at, makePackageSources, type PackageRecipe } from "./support/package-sources.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";

const recipe = (name: string, rest: Partial<PackageRecipe> = {}) => at(name, "1.0", rest);

/** Its unit as Debian's packages treat theirs: started when it is set up, stopped before its file goes. */
const daemon = (name: string, unit: string, rest: Partial<PackageRecipe>): PackageRecipe =>
  recipe(name, {
    postinst: [`systemctl daemon-reload; systemctl enable --now ${unit}`],
    prerm: [`test "$1" != remove || systemctl stop ${unit} || true`],
    postrm: ["systemctl daemon-reload"],
    ...rest,
  });
const install = (target: string): readonly string[] => ["[Install]", `WantedBy=${target}`];
const ports = {
  own: 20_000 + (process.pid % 4000),
  waiting: 24_000 + (process.pid % 4000),
  exporter: 28_000 + (process.pid % 4000),
  needing: 60_000 + (process.pid % 900),
};
const listen = (port: number): string => `/usr/bin/python3 -m http.server --bind 127.0.0.1 --directory /srv ${port}`;

const recipes = [
  recipe("libtool-of-test"),
  recipe("tool-of-test", { control: ["Depends: libtool-of-test", "Provides: any-tool"], config: "as it came\n" }),
  recipe("tool-addon", { control: ["Depends: tool-of-test"] }),
  daemon("daemon-of-test", "own.service", {
    units: { "own.service": ["[Service]", `ExecStart=${listen(ports.own)}`, ...install("multi-user.target")] },
  }),
  // systemd itself waits at its port. Its service is of no target, and ends with a failure.
  daemon("waiting-of-test", "waiting.socket", {
    control: ["Depends: daemon-of-test"],
    prerm: ['test "$1" != remove || systemctl stop waiting.socket waiting.service || true'],
    units: {
      "waiting.socket": ["[Socket]", `ListenStream=127.0.0.1:${ports.waiting}`, ...install("sockets.target")],
      "waiting.service": ["[Service]", "ExecStart=/bin/sh -c 'trap \"exit 3\" TERM; sleep infinity & wait'"],
    },
  }),
  recipe("needed-of-test", { postinst: ["systemctl restart needing"], postrm: ["systemctl restart needing"] }),
];
/** Takes a lock as apt does, and gives it back after a second. */
const locker = `import fcntl, os, time
lock = open("/var/lib/dpkg/lock-frontend", "w")
fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
open("/run/locked", "w").close()
time.sleep(1)
os.unlink("/run/locked")`;
const dryRun = { dry_run: true } as const;

describeOnHost("changes of packages", (session) => {
  const { shell } = session;
  const state = async (name: string): Promise<string> =>
    (await shell(`dpkg-query -W -f '\${db:Status-Status}' ${name} 2>/dev/null || echo absent`)).trim();
  const body = (...names: string[]) => ({ body: { packages: names } });

  beforeAll(async () => {
    await session.host.startService({ config: "updates: { guard_minutes: 0.1 }\n" });
    await session.service.restart();
    await makePackageSources(session, recipes);
  });

  it("show packages as apt does", async () => {
    const shown = await session.api.getPackage({ params: { name: "tool-of-test" } });
    const record = await shell("apt-cache show --no-all-versions tool-of-test");
    const field = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, "m").exec(record)?.[1]);
    // Installed-Size counts in KiB, and a package without one says nothing.
    expect([shown.download_bytes, shown.installed_bytes ?? Number.NaN]).toEqual([
      field("Size"),
      field("Installed-Size") * 1024,
    ]);
    const origins = shown.versions.flatMap((each) => each.origins);
    const sources = await shell("apt-cache policy tool-of-test");
    for (const { location } of origins) expect(sources).toContain(location);
    expect(origins.map(({ origin }) => origin)).toContain("Debian");
    const policy = await shell("apt-cache policy tool-of-test dpkg");
    for (const name of ["tool-of-test", "dpkg"]) {
      const { installed, candidate } = await session.api.getPackage({ params: { name } });
      expect(policy).toContain(
        `${name}:\n  Installed: ${installed?.version ?? "(none)"}\n  Candidate: ${candidate ?? "(none)"}\n`,
      );
    }
  });

  it("install packages with what they need, and are undone by a rollback", async () => {
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

  it("remove packages with what depends on them, and are undone by a rollback", async () => {
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

  it("are in the history of apt", async () => {
    const { transactions } = await session.api.listPackageHistory();
    expect(transactions[0]).toMatchObject({
      packages: expect.arrayContaining([
        expect.objectContaining({ name: "tool-of-test", action: "purge", from: "1.0" }),
      ]),
    });
  });

  it("hold and unhold packages, as apt-mark and the check for updates show, once the lock is free", async () => {
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
    expect(await refusal(client.holdPackages(body("grep", "tool-addon")))).toMatchObject({ status: 400 });
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

  it("purge packages of which only configuration is left", async () => {
    await session.api.installPackages(body("tool-of-test"));
    await session.api.removePackages(body("tool-of-test"));
    expect(await state("tool-of-test")).toBe("config-files");
    expect(await session.api.purgePackages({ ...body("tool-of-test"), query: dryRun })).toMatchObject({
      steps: ["take a snapshot", "purge tool-of-test 1.0"],
    });
    expect(await session.api.purgePackages(body("tool-of-test"))).toMatchObject({ success: true, error: null });
    expect(await state("tool-of-test")).toBe("absent");
  });

  it("remove daemons with their ports, under a guard too", async () => {
    const its = `ExecStart=/usr/bin/prometheus-node-exporter --web.listen-address=127.0.0.1:${ports.exporter}`;
    await session.host.writeFile(
      "/etc/systemd/system/prometheus-node-exporter.service.d/port.conf",
      `[Service]\nExecStart=\n${its}\n`,
    );
    await session.api.installPackages(body("waiting-of-test"));
    await shell("systemctl daemon-reload; systemctl enable --now prometheus-node-exporter; systemctl start waiting");
    await eventually(async () => {
      const listening = await shell("ss -Hltn");
      for (const port of [ports.own, ports.waiting, ports.exporter]) expect(listening).toContain(`127.0.0.1:${port} `);
    });
    const packages = ["daemon-of-test", "prometheus-node-exporter"];
    const removed = await session.api.removePackages({ body: { packages, guard: true } });
    expect(removed).toMatchObject({ success: true, packages_changed: 3, guard: { outcome: "kept", worse: [] } });
    const listening = await shell("ss -Hltn");
    for (const port of [ports.own, ports.waiting, ports.exporter]) expect(listening).not.toContain(`:${port} `);
  });

  it("are rolled back where a service that stays no longer listens without them", async () => {
    await session.writeUnits({
      "needing.service": [
        "[Service]",
        `ExecStart=/bin/sh -c 'test ! -e /usr/share/needed-of-test || exec ${listen(ports.needing)}; exec sleep infinity'`,
      ],
    });
    await session.api.installPackages(body("needed-of-test"));
    const listening = () => shell("ss -Hltn");
    await eventually(async () => expect(await listening()).toContain(`127.0.0.1:${ports.needing} `));
    const removed = await session.api.removePackages({ body: { packages: ["needed-of-test"], guard: true } });
    expect(removed).toMatchObject({
      success: false,
      guard: {
        outcome: "rolled_back",
        worse: [`port ${ports.needing}/tcp on loopback: python3 listened, now nothing does`],
      },
    });
    expect(await state("needed-of-test")).toBe("installed");
    expect(await listening()).toContain(`127.0.0.1:${ports.needing} `);
  });

  it("refuse packages that the host needs, and names that are not packages", async () => {
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

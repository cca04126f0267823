import { beforeAll, beforeEach, expect, it } from "vitest";
import { asPlan } from "#cli/core/plan.ts";
import { eventually } from "./support/eventually.ts";
import { type HostManager, type HostPackage, hostManagers } from "./support/manager-hosts.ts";
import { freePort } from "./support/plugin-peers.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost, type Session } from "./support/session.ts";
import { createSmallDisk } from "./support/small-disk.ts";

/** How a daemon of a new version ends, and as what systemd then has its unit. */
const ends = { crasher: 3, quitter: 0 } as const;
const states = { crasher: "failed (failed), result exit-code", quitter: "inactive (dead)" } as const;
type Daemon = keyof typeof ends;

const serverOf = (name: Daemon, version: string, port: number): string =>
  version === "1.0"
    ? `import { createServer } from "node:http";
createServer((_, reply) => reply.end("${name} ${version}")).listen(${port}, "127.0.0.1");
`
    : `process.exit(${ends[name]});\n`;

/** A daemon with its unit. Each version lets it run again where it runs, as packages do. */
const daemonOf = (name: Daemon, version: string, port: number): HostPackage => ({
  name,
  version,
  script: ["systemctl daemon-reload", `systemctl try-restart ${name}.service || true`],
  files: {
    [`/usr/lib/${name}/serve.mjs`]: serverOf(name, version, port),
    [`/usr/lib/systemd/system/${name}.service`]: [
      "[Service]",
      `ExecStart=/opt/steward/node_modules/.bin/node /usr/lib/${name}/serve.mjs`,
      "",
    ].join("\n"),
  },
});

const versions = (name: string, newest: Partial<HostPackage> = {}): readonly HostPackage[] => [
  { name, version: "1.0" },
  { name, version: "1.1", ...newest },
];
const madeByScript = ["echo made > /etc/web-made", "echo 'web:x:990:990::/:/usr/sbin/nologin' >> /etc/passwd"];
const others: readonly HostPackage[] = [
  // It also ends a program that ends by itself when nobody needs it, although the boot wants it.
  ...versions("filler", { script: ["head -c 300000 /dev/zero > /srv/small/more", "systemctl stop snapperd.service"] }),
  ...versions("web", { script: madeByScript }),
  ...versions("hole"),
  ...versions("steady"),
];
const kernels = ["1.0", "2.0", "3.0"].map((version): HostPackage => ({ name: "kernel", version, isKernel: true }));

function testManager(session: Session, manager: HostManager): void {
  const { shell } = session;
  const ports: Record<Daemon, number> = { crasher: 0, quitter: 0 };
  const self: HostPackage = { name: manager.self, version: "1.0" };
  let all: readonly HostPackage[] = [];
  const old = (...names: readonly string[]) =>
    all.filter(({ name, version }) => names.includes(name) && version === "1.0");
  const install = (wanted: readonly HostPackage[]) => shell(`{ ${manager.install(wanted)}; } >/dev/null`);
  const installed = async () =>
    (await shell(manager.list)).split("\n").filter((line) => line !== "" && line !== `${self.name} ${self.version}`);
  const refresh = () => session.api.checkUpdates({ query: { refresh: true } });
  const answerOf = (name: Daemon) => fetch(`http://127.0.0.1:${ports[name]}`).then((reply) => reply.text());

  beforeAll(async () => {
    for (const name of ["crasher", "quitter"] as const) ports[name] = await freePort();
    const daemons = (["crasher", "quitter"] as const).flatMap((name) =>
      ["1.0", "1.1"].map((version) => daemonOf(name, version, ports[name])),
    );
    all = [self, ...daemons, ...others, ...(manager.hasKernels ? kernels : [])];
    for (const path of manager.hidden) await shell(`mv ${path} ${path}.hidden`);
    for (const [path, text] of Object.entries(manager.settings)) await session.host.writeFile(path, text, 0o644);
    await manager.build(session, all);
    await manager.offer(session, all);
    await install([self]);
    await session.service.restart();
  });

  beforeEach(async () => {
    const names = [...new Set((await installed()).map((line) => line.replace(/ .*$/, "")))];
    if (names.length > 0) await shell(`${manager.remove(names)} >/dev/null`);
  });

  it("is offered and planned, and the state of the packages told, to a service without rights", async () => {
    await install(old("steady", "web"));
    const found = await refresh();
    expect(found.package_manager).toBe(manager.name);
    expect(found.packages.updates.map(({ name }) => name).sort()).toEqual(["steady", "web"]);
    const checks = [`${manager.name}_status`, "security_updates"];
    for (const id of checks) {
      const check = await session.api.getCheck({ params: { check_id: id } });
      expect(`${id} ${check.status} ${check.message}`).toMatch(new RegExp(`^${id} (?:pass|skip) `));
    }
    const plan = asPlan(await session.api.applyUpdates({ query: { dry_run: true }, body: { type: "all" } }));
    expect([...(plan.packages ?? [])].sort()).toEqual(["steady", "web"]);
    expect(await installed()).toEqual(["steady 1.0", "web 1.0"]);
  });

  it.skipIf(manager.name === "pacman")(
    "brings packages and takes them away for a service without rights, and returns",
    async () => {
      await refresh();
      const body = { packages: ["web"] };
      const dryRun = { dry_run: true };
      const plan = asPlan(await session.api.installPackages({ query: dryRun, body }));
      expect(plan.steps).toEqual(["take a snapshot", "install web 1.1-1"]);
      expect(await installed()).toEqual([]);
      const done = { success: true, error: null, packages_changed: 1 };
      const come = await session.api.installPackages({ body: { ...body, guard: true } });
      expect(come).toMatchObject(done);
      expect(await installed()).toEqual(["web 1.1"]);
      expect(asPlan(await session.api.installPackages({ query: dryRun, body })).steps).toEqual([]);
      const self = { packages: [manager.self] };
      expect(await refusal(session.api.removePackages({ query: dryRun, body: self }))).toMatchObject({
        status: 400,
        message: expect.stringContaining(
          `${manager.self} would be removed, which is refused: it is the package manager`,
        ),
      });
      await shell("echo mine > /etc/web/conf");
      const purged = await session.api.purgePackages({ body });
      expect(purged).toMatchObject(done);
      expect(await shell("find /etc/web -type f 2>/dev/null || true")).toBe("");
      await session.api.rollback({ params: { snapshot_id: purged.snapshot_id }, body: {} });
      expect(await installed()).toEqual(["web 1.1"]);
      expect(await shell("cat /etc/web/conf")).toBe("mine\n");
      await session.api.rollback({ params: { snapshot_id: come.snapshot_id }, body: {} });
      expect(await installed()).toEqual([]);
      expect(await shell("ls /etc/web-made 2>/dev/null; grep ^web: /etc/passwd || true")).toBe("");
      await shell("rm -rf /etc/web");
    },
    480_000,
  );

  it.each(["crasher", "quitter"] as const)(
    "is rolled back when the %s ends, which then answers again",
    async (name) => {
      const unit = `${name}.service`;
      await install(old(name));
      await shell(`systemctl start ${unit}`);
      expect(await eventually(() => answerOf(name))).toBe(`${name} 1.0`);
      await refresh();
      const result = await session.api.applyUpdates({ body: { type: "all", guard: true } });
      expect(result).toMatchObject({
        success: false,
        packages_updated: 0,
        guard: {
          outcome: "rolled_back",
          worse: expect.arrayContaining([`unit ${unit}: was active (running), now ${states[name]}`]),
          restarted: expect.arrayContaining([unit]),
          remaining: [],
        },
      });
      expect(await installed()).toEqual([`${name} 1.0`]);
      expect(await answerOf(name)).toBe(`${name} 1.0`);
      expect(await shell(`cat /etc/${name}/conf; systemctl is-active ${unit}`)).toBe("setting 1.0\nactive\n");
    },
    480_000,
  );

  it("is kept on a busy host, and where a file system passes its first threshold", async () => {
    await shell("mkdir -p /srv/small && mount -t tmpfs -o size=10m tmpfs /srv/small");
    const loops = ["busy-1", "busy-2"];
    try {
      await install(old("filler"));
      await shell("head -c 8280000 /dev/zero > /srv/small/most");
      for (const unit of loops)
        await shell(`systemd-run --quiet --unit=${unit} --property=RuntimeMaxSec=120 sh -c 'while :; do :; done'`);
      const used = async () => Number((await shell("df --output=pcent /srv/small")).replaceAll(/\D/g, ""));
      expect(await used()).toBeLessThan(80);
      await refresh();
      await shell("systemctl restart snapperd.service");
      expect(await session.api.applyUpdates({ body: { type: "all", guard: true } })).toMatchObject({
        success: true,
        packages_updated: 1,
        guard: { outcome: "kept", worse: [] },
      });
      expect(await used()).toBeGreaterThan(80);
      expect(await installed()).toEqual(["filler 1.1"]);
    } finally {
      await shell(`systemctl stop ${loops.join(" ")} 2>/dev/null; umount /srv/small`);
    }
  });

  it("leaves a user made since, a renewed certificate and an edit of others alone on the way back", async () => {
    await install(old("web"));
    await shell("mkdir -p /etc/ssl; echo first > /etc/ssl/site.pem");
    await refresh();
    const applied = await session.api.applyUpdates({ body: { type: "all" } });
    expect(applied).toMatchObject({ success: true, packages_updated: 1 });
    await shell("useradd --uid 4242 alice; echo renewed > /etc/ssl/site.pem; echo '127.0.0.9 ours' >> /etc/hosts");
    const request = { params: { snapshot_id: applied.snapshot_id } };
    const { steps, reason } = asPlan(await session.api.rollback({ ...request, query: { dry_run: true } }));
    expect(steps).toEqual(
      expect.arrayContaining([
        `return web from 1.1${manager.release} to 1.0${manager.release}`,
        "restore /etc/web/conf",
        "remove /etc/web-made",
      ]),
    );
    expect(steps.join()).not.toMatch(/passwd|site.pem|hosts/);
    for (const path of ["/etc/passwd", "/etc/ssl/site.pem", "/etc/hosts"]) expect(reason).toContain(path);

    const back = await session.api.rollback(request);
    expect(back).toMatchObject({ success: true, packages_changed: 1 });
    expect(back.files_left).toEqual(
      expect.arrayContaining(["/etc/hosts", "/etc/passwd", "/etc/shadow", "/etc/ssl/site.pem"]),
    );
    const kept = "cat /etc/web/conf /etc/ssl/site.pem; tail -n 1 /etc/hosts; getent passwd alice";
    expect(await shell(kept)).toMatch(/^setting 1.0\nrenewed\n127.0.0.9 ours\nalice:x:4242:/);
    expect(await shell("ls /etc/web-made 2>/dev/null || true")).toBe("");
    expect(await installed()).toEqual(["web 1.0"]);
    await shell("userdel alice; sed -i '/^web:/d' /etc/passwd; sed -i '/127.0.0.9/d' /etc/hosts");
  });

  it("says which package has no way back, and leaves it where the rest returns", async () => {
    await install(old("hole", "steady"));
    const gone = old("hole");
    await manager.offer(
      session,
      all.filter((each) => !gone.includes(each)),
    );
    await shell(`rm -f ${gone.map(manager.cachedFile).join(" ")}`);
    try {
      await refresh();
      const body = { type: "all" } as const;
      const plan = await session.api.applyUpdates({ query: { dry_run: true }, body });
      expect(plan).toMatchObject({ rollback: "partial", rollback_lacks: ["hole"] });
      await expect(session.api.applyUpdates({ body: { ...body, guard: true } })).rejects.toMatchObject({
        message: expect.stringContaining("hole"),
      });
      expect(await installed()).toEqual(["hole 1.0", "steady 1.0"]);

      const applied = await session.api.applyUpdates({ body });
      expect(applied).toMatchObject({ success: true, packages_updated: 2 });
      const { snapshots } = await session.api.listSnapshots();
      expect(snapshots.find(({ id }) => id === applied.snapshot_id)).toMatchObject({
        rollback: "partial",
        rollback_lacks: ["hole"],
      });
      const params = { snapshot_id: applied.snapshot_id };
      await expect(session.api.rollback({ params })).rejects.toMatchObject({
        message: expect.stringContaining("hole"),
      });
      expect(await installed()).toEqual(["hole 1.1", "steady 1.1"]);
      expect(await session.api.rollback({ params, body: { partial: true } })).toMatchObject({
        success: true,
        packages: [{ name: "steady", from: `1.1${manager.release}`, to: `1.0${manager.release}` }],
      });
      expect(await installed()).toEqual(["hole 1.1", "steady 1.0"]);
      expect(await shell("cat /etc/hole/conf /etc/steady/conf")).toBe("setting 1.1\nsetting 1.0\n");
    } finally {
      await manager.offer(session, all);
    }
  });

  it.skipIf(!manager.hasKernels)(
    "brings each of two kernels back, and removes the third",
    async () => {
      await install(kernels.slice(0, 1));
      await install(kernels.slice(1, 2));
      expect(await installed()).toEqual(["kernel 1.0", "kernel 2.0"]);
      await refresh();
      const applied = await session.api.applyUpdates({ body: { type: "all" } });
      expect(applied).toMatchObject({ success: true, error: null });
      // dnf removes the oldest itself.
      const now = manager.name === "dnf" ? ["kernel 2.0", "kernel 3.0"] : ["kernel 1.0", "kernel 2.0", "kernel 3.0"];
      expect(await installed()).toEqual(now);
      const back = await session.api.rollback({ params: { snapshot_id: applied.snapshot_id } });
      expect(back).toMatchObject({ success: true });
      expect(await installed()).toEqual(["kernel 1.0", "kernel 2.0"]);
      expect(await shell("cat /etc/kernel-*/conf")).toBe("setting 1.0\nsetting 2.0\n");
    },
    480_000,
  );

  it.skipIf(!manager.hasKernels)(
    "is refused where /boot has no room for another kernel, before anything begins",
    async () => {
      await install(kernels.slice(0, 1));
      await install(kernels.slice(1, 2));
      await refresh();
      const disk = await createSmallDisk(session, 64);
      try {
        await disk.mount("/boot");
        await shell("head -c 50000000 /dev/zero > /boot/vmlinuz");
        const { snapshots } = await session.api.listSnapshots();
        await expect(session.api.applyUpdates({ body: { type: "all" } })).rejects.toMatchObject({
          code: "UNAVAILABLE",
          message: expect.stringMatching(/^cannot update: \/boot has .* free, and \d kernel images? needs? about /),
        });
        expect((await session.api.listSnapshots()).snapshots).toEqual(snapshots);
        expect(await installed()).toEqual(["kernel 1.0", "kernel 2.0"]);
        await disk.unmount();
      } finally {
        disk.dispose();
      }
    },
    480_000,
  );
}

for (const manager of hostManagers)
  describeOnHost(
    `an update with ${manager.name} of the host itself`,
    { config: "updates: { guard_minutes: 0.1 }\n" },
    (session) => testManager(session, manager),
  );

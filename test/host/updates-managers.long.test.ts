import { beforeAll, beforeEach, expect, it } from "vitest";
import { asPlan } from "#cli/core/plan.ts";
import { eventually } from "./support/eventually.ts";
import { type HostManager, type HostPackage, hostManagers } from "./support/manager-hosts.ts";
import { freePort } from "./support/plugin-peers.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost, type Session } from "./support/session.ts";

/** A daemon with its unit. Each version lets it run again where it runs, as packages do; the new one ends at once. */
const daemonOf = (version: string, port: number): HostPackage => ({
  name: "crasher",
  version,
  script: ["systemctl daemon-reload", "systemctl try-restart crasher.service || true"],
  files: {
    "/usr/lib/crasher/serve.mjs":
      version === "1.0"
        ? `import { createServer } from "node:http";
createServer((_, reply) => reply.end("here")).listen(${port}, "127.0.0.1");
`
        : "process.exit(3);\n",
    "/usr/lib/systemd/system/crasher.service": [
      "[Service]",
      "ExecStart=/opt/steward/node_modules/.bin/node /usr/lib/crasher/serve.mjs",
      "",
    ].join("\n"),
  },
});
const madeByScript = ["echo made > /etc/web-made", "echo 'web:x:990:990::/:/usr/sbin/nologin' >> /etc/passwd"];
const others: readonly HostPackage[] = [
  { name: "web", version: "1.0" },
  { name: "web", version: "1.1", script: madeByScript },
  { name: "steady", version: "1.0" },
  { name: "steady", version: "1.1" },
];

function testManager(session: Session, manager: HostManager): void {
  const { shell } = session;
  let port = 0;
  const self: HostPackage = { name: manager.self, version: "1.0" };
  let all: readonly HostPackage[] = [];
  const old = (...names: readonly string[]) =>
    all.filter(({ name, version }) => names.includes(name) && version === "1.0");
  const install = (wanted: readonly HostPackage[]) => shell(`{ ${manager.install(wanted)}; } >/dev/null`);
  const installed = async () =>
    (await shell(manager.list)).split("\n").filter((line) => line !== "" && line !== `${self.name} ${self.version}`);
  const refresh = () => session.api.checkUpdates({ query: { refresh: true } });
  const answer = () => fetch(`http://127.0.0.1:${port}`).then((reply) => reply.text());

  beforeAll(async () => {
    port = await freePort();
    all = [self, daemonOf("1.0", port), daemonOf("1.1", port), ...others];
    for (const path of manager.hidden) await shell(`mv ${path} ${path}.hidden`);
    for (const [path, text] of Object.entries(manager.settings)) await session.host.writeFile(path, text, 0o644);
    await manager.build(session, all);
    await install([self]);
    await session.service.restart();
  });

  beforeEach(async () => {
    const names = [...new Set((await installed()).map((line) => line.replace(/ .*$/, "")))];
    if (names.length > 0) await shell(`${manager.remove(names)} >/dev/null`);
  });

  it("is offered, planned and checked for a service without rights", async () => {
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
    "installs and purges packages for a service without rights, and returns",
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
  );

  it("is rolled back when a daemon ends, which then answers again", async () => {
    await install(old("crasher"));
    await shell("systemctl start crasher.service");
    expect(await eventually(answer)).toBe("here");
    await refresh();
    const result = await session.api.applyUpdates({ body: { type: "all", guard: true } });
    const worse = "unit crasher.service: was active (running), now failed (failed), result exit-code";
    expect(result).toMatchObject({
      success: false,
      packages_updated: 0,
      guard: {
        outcome: "rolled_back",
        worse: expect.arrayContaining([worse]),
        restarted: expect.arrayContaining(["crasher.service"]),
        remaining: [],
      },
    });
    expect(await installed()).toEqual(["crasher 1.0"]);
    expect(await answer()).toBe("here");
    expect(await shell("cat /etc/crasher/conf; systemctl is-active crasher.service")).toBe("setting 1.0\nactive\n");
  });
}

for (const manager of hostManagers)
  describeOnHost(
    `an update with ${manager.name} of the host itself`,
    { config: "updates: { guard_minutes: 0.1 }\n" },
    (session) => testManager(session, manager),
  );

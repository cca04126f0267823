import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import type { OperationEntry } from "#contract/operation-entry.ts";
import { createRandom } from "../process/support/random.ts";
import type { RunningService } from "./service.ts";
import { eventually } from "./support/eventually.ts";
import { changesSince, fileTree } from "./support/file-tree.ts";
import { kills } from "./support/kills.ts";
import { makePackageSources, type PackageRecipe, packageFile } from "./support/package-sources.ts";
import { freePort } from "./support/plugin-peers.ts";
import { describeOnHost } from "./support/session.ts";

const at = (name: string, version: string, rest: Partial<PackageRecipe> = {}): PackageRecipe => ({
  name,
  version,
  place: "main",
  ...rest,
});

const old = ["editor", "library", "server"].map((name) => at(name, "1.0"));
const newer = [at("editor", "1.1"), at("library", "1.1", { place: "security" }), at("server", "1.1")];
/** Each takes its time, so that there is a moment to come between. */
const slowNames = ["slow-a", "slow-b", "slow-c"];
const slow = slowNames.flatMap((name) => [
  at(name, "1.0"),
  at(name, "1.1", { preinst: ["sleep 0.2"], postinst: ["sleep 0.2", `echo ${name} >> /srv/set-up`] }),
]);
/** Its new version restarts the very service that installs it. */
const restarter = [at("restarter", "1.0"), at("restarter", "1.1", { postinst: ["systemctl restart steward.service"] })];
/** Its new version breaks a unit. */
const breaker = [
  at("breaker", "1.0"),
  at("breaker", "1.1", { postinst: ["touch /srv/broken; systemctl restart peer || true"] }),
];
/** Its new version cannot be set up. */
const failing = [
  at("failing", "1.0"),
  at("failing", "1.1", { postinst: ["echo 'cannot reach the moon' >&2; exit 3"], control: ["Depends: fresh"] }),
  at("fresh", "1.1"),
];
/** Its new version does not fit on a small disk, which is found out after what it needs has been unpacked. */
const bulky = [
  at("bulky", "1.0"),
  at("bulky", "1.1", { control: ["Pre-Depends: editor (>= 1.1)"], payloadBytes: 4 * 2 ** 20 }),
];
const all = [...old, ...newer, ...slow, ...restarter, ...breaker, ...failing, ...bulky];
const seed = Number(process.env["STEWARD_TEST_SEED"] ?? Date.now() % 1_000_000);

describeOnHost("updates on btrfs with snapper", (session) => {
  const { shell } = session;
  const version = async (name: string) => shell(`cat /usr/share/${name}/version`);

  it("are undone by a rollback and a reboot, with the old versions running and all keys still there", async () => {
    await makePackageSources(session, all);
    await shell(`dpkg -i ${old.map(packageFile).join(" ")} >/dev/null 2>&1`);
    await session.writeUnits({
      "shown.service": [
        "[Service]",
        "Type=oneshot",
        "RemainAfterExit=yes",
        "ExecStart=/bin/sh -c 'cat /usr/share/server/version > /run/shown'",
        "[Install]",
        "WantedBy=multi-user.target",
      ],
    });
    await shell("systemctl enable shown.service 2>/dev/null");
    const security = await session.api.applyUpdates({ body: { security_only: true } });
    expect(security).toMatchObject({ success: true, packages_updated: 1, packages: [{ name: "library" }] });
    const { snapshots } = await session.api.listSnapshots();
    expect(snapshots.find(({ id }) => id === security.snapshot_id)).toMatchObject({ backend: "snapper" });
    // Snapper's own hooks in apt would take one before and one after.
    expect(snapshots.filter(({ kind }) => kind === "external")).toEqual([]);
    expect(await session.api.applyUpdates({ body: {} })).toMatchObject({ success: true, packages_updated: 2 });

    const back = await session.api.rollback({ params: { snapshot_id: security.snapshot_id } });
    expect(back).toMatchObject({ success: true, requires_reboot: true, packages_changed: 3 });
    expect(await version("server")).toBe("1.1\n");
    const { key } = await session.api.createKey({ body: { name: "made meanwhile", scopes: ["updates:read"] } });
    await session.host.reboot();
    await session.service.restart();

    for (const name of ["editor", "library", "server"]) expect([name, await version(name)]).toEqual([name, "1.0\n"]);
    expect(await shell("cat /run/shown")).toBe("1.0\n");
    const client = createClient({ url: session.service.url, key });
    const { operations } = await client.listOperations();
    expect(operations[0]).toMatchObject({ kind: "updates.rollback", status: "done" });
  });
});

describeOnHost("updates", (session) => {
  const { shell } = session;
  let service: RunningService;
  const api = () => createClient({ url: service.url, key: service.adminKey });
  const versionsOf = async (names: readonly string[]): Promise<Readonly<Record<string, string>>> => {
    const text = await shell(`dpkg-query -W -f '\${Package} \${Version}\\n' ${names.join(" ")}`);
    return Object.fromEntries(
      text
        .trim()
        .split("\n")
        .map((line) => line.split(" ")),
    );
  };
  const listing = () => shell("dpkg -l | sort");
  const etcTree = () =>
    shell(
      "cd /etc && find . -not -path ./steward -not -name '.pwd.lock' -printf '%p %y %m %U:%G %l ' -type f -exec sha256sum {} + -o -printf '\\n' | sort | sha256sum",
    );
  const install = (recipes: readonly PackageRecipe[]) =>
    shell(`dpkg --force-downgrade -i ${recipes.map(packageFile).join(" ")} >/dev/null 2>&1`);
  const oldOf = (names: readonly string[]) =>
    all.filter(({ name, version }) => names.includes(name) && version === "1.0");
  const newest = (): Promise<OperationEntry | undefined> =>
    api()
      .listOperations({ query: { limit: 1 } })
      .then(({ operations: [first] }) => first);
  const apply = (body: { security_only?: boolean; packages?: string[]; guard?: boolean }) =>
    api().applyUpdates({ body });

  /** Begins an operation without waiting for it. @returns its id. */
  const post = async (path: string, body: object, key?: string): Promise<string> => {
    const reply = await fetch(`${service.url}/api/v1/updates/${path}`, {
      method: "POST",
      headers: {
        "X-API-Key": service.adminKey,
        "Content-Type": "application/json",
        Prefer: "respond-async",
        ...(key !== undefined && { "Idempotency-Key": key }),
      },
      body: JSON.stringify(body),
    });
    expect(reply.status).toBe(202);
    const { id } = (await reply.json()) as OperationEntry;
    expect(reply.headers.get("location")).toBe(`/api/v1/operations/${id}`);
    return id;
  };
  const begin = (body: object, key?: string): Promise<string> => post("apply", body, key);
  const ended = (id: string, timeoutMs = 60_000): Promise<OperationEntry> =>
    eventually(async () => {
      const operation = await api().getOperation({ params: { id } });
      expect(["done", "failed"]).toContain(operation.status);
      return operation;
    }, timeoutMs);

  beforeAll(async () => {
    // A port that stays the same when the service is started again by others than the test.
    const listen = `127.0.0.1:${await freePort()}`;
    const env = { STEWARD_RATE_LIMITS: "off", STEWARD_LISTEN: listen };
    const config = `updates: { backend: packages, guard_minutes: 0.1 }
health: { checks: { who: { command: [/usr/local/bin/who-runs] } } }
`;
    await session.host.writeFile(
      "/usr/local/bin/who-runs",
      "#!/bin/sh\nid -un >> /srv/who; id -Gn >> /srv/who\n",
      0o755,
    );
    service = await session.host.startService({ env, config });
    await makePackageSources(session, all);
    await session.writeUnits({
      "peer.service": ["[Service]", "ExecStart=/bin/sh -c 'test ! -e /srv/broken && exec sleep infinity'"],
    });
  });
  beforeEach(async () => {
    await shell("rm -f /srv/broken; systemctl reset-failed; systemctl restart peer");
    await shell(
      `dpkg --purge --force-all ${[...slowNames, "restarter", "breaker", "failing", "fresh"].join(" ")} >/dev/null 2>&1 || true`,
    );
    await install(old);
  });

  it("are checked, installed as far as they are for security, and undone to the last byte", async () => {
    await shell("echo 'as it was' > /etc/of-a-test");
    const before = { listing: await listing(), etc: await etcTree() };
    const check = await api().checkUpdates();
    expect(check).toMatchObject({ package_manager: "apt", security_known: true, packages: { total: 3, security: 1 } });
    expect(check.packages.updates.find(({ is_security: isSecurity }) => isSecurity)).toMatchObject({
      name: "library",
      current_version: "1.0",
      new_version: "1.1",
    });

    const result = await apply({ security_only: true });
    expect(result).toMatchObject({
      success: true,
      packages_updated: 1,
      packages: [{ name: "library", from: "1.0", to: "1.1" }],
      error: null,
    });
    expect(await versionsOf(["editor", "library", "server"])).toEqual({ editor: "1.0", library: "1.1", server: "1.0" });
    expect(await apply({})).toMatchObject({ success: true, packages_updated: 2 });
    await shell("echo 'as it is' > /etc/of-a-test; echo new > /etc/new-of-a-test");
    const { snapshots } = await api().listSnapshots();
    expect(snapshots.map(({ id }) => id)).toContain(result.snapshot_id);
    const diff = await api().diffSnapshot({ params: { snapshot_id: result.snapshot_id } });
    expect(diff.packages).toHaveLength(3);
    expect(diff.files).toEqual(
      expect.arrayContaining([
        { path: "/etc/new-of-a-test", change: "added" },
        { path: "/etc/of-a-test", change: "modified" },
      ]),
    );

    const back = await api().rollback({ params: { snapshot_id: result.snapshot_id } });
    expect(back).toMatchObject({ success: true, packages_changed: 3 });
    expect({ listing: await listing(), etc: await etcTree() }).toEqual(before);
  });

  it("for security are the fix of their health check", async () => {
    const check = { check_id: "security_updates" };
    expect(await api().getCheck({ params: check })).toMatchObject({
      status: "warn",
      fixable: true,
      fix_id: "apply_security_updates",
    });
    const before = await fileTree(session);
    const plan = await api().fixCheck({ params: check, query: { dry_run: true } });
    expect(plan).toMatchObject({
      packages: ["library"],
      steps: [expect.stringMatching(/^install 1 security update.*: library, behind a snapshot$/)],
    });
    expect(await versionsOf(["library"])).toEqual({ library: "1.0" });
    expect(changesSince(before, await fileTree(session), { ignore: [/^\/var\/log\/journal/] })).toEqual({
      added: [],
      removed: [],
      changed: [],
    });
    const operation = async () => (await api().listOperations({ query: { limit: 1 } })).operations[0]?.id;
    const earlier = await operation();
    expect(await api().fixCheck({ params: check })).toMatchObject({
      success: true,
      steps: [{ status: "done", message: expect.stringMatching(/^1 package updated behind the snapshot/) }],
      check: { status: "pass" },
    });
    expect(await versionsOf(["editor", "library", "server"])).toEqual({ editor: "1.0", library: "1.1", server: "1.0" });
    const begun = await operation();
    expect(begun).not.toBe(earlier);
    expect(
      JSON.parse(await shell("grep fixCheck /var/lib/steward/audit/audit-000000000001.log | tail -n 1")),
    ).toMatchObject({
      target: { check_id: "security_updates", fix_id: "apply_security_updates" },
      operation_id: begun,
    });
    // The package's own files; beside them only what apt and dpkg keep for themselves, and what their hooks on this host write.
    const ignore = [
      /^\/var\/(lib\/(dpkg|apt)|cache\/apt|log\/(apt|journal))\//,
      /^\/var\/log\/dpkg\.log$/,
      /^\/var\/(cache\/debconf\/tmp\.ci|tmp\/snapper-apt|log\/snapper\.log)$/,
    ];
    expect(changesSince(before, await fileTree(session), { ignore })).toEqual({
      added: [],
      removed: [],
      changed: ["/usr/share/library/version"],
    });
  });

  it("go on when the upgrade restarts the service, and are found again under their idempotency key", async () => {
    await install(oldOf(["restarter"]));
    const pid = await service.pid();
    const id = await begin({ packages: ["restarter"], create_snapshot: false }, "restarts-us");
    await eventually(async () => expect(await service.pid()).not.toBe(pid), 30_000);
    expect(await eventually(() => ended(id), 30_000)).toMatchObject({
      status: "done",
      result: { success: true, packages_updated: 1 },
    });
    expect(await begin({ packages: ["restarter"], create_snapshot: false }, "restarts-us")).toBe(id);
    expect(await versionsOf(["restarter"])).toEqual({ restarter: "1.1" });
  });

  it("go on when the service is killed", async () => {
    await install(oldOf(slowNames));
    const id = await begin({ packages: slowNames });
    await eventually(async () => expect(await newest()).toMatchObject({ id, status: "running" }));
    const dead = "while systemctl is-active -q steward.service; do sleep 0.05; done";
    await shell(`systemctl kill -s KILL steward.service; ${dead}; systemctl start steward.service`);
    expect(await eventually(() => ended(id), 60_000)).toMatchObject({
      status: "done",
      result: { success: true, packages_updated: 3 },
    });
    expect(await shell("dpkg --audit")).toBe("");
  });

  describe(`whose process is killed at random moments (STEWARD_TEST_SEED=${seed})`, () => {
    const random = createRandom(seed);
    const folderOf = (id: string): string => `/var/lib/steward-tasks/operations/${id}`;

    /** Kills the task at its first and its second attempt. @returns how often that interrupted it. */
    const killTwice = async (id: string): Promise<number> => {
      for (let attempt = 1; attempt <= 2; attempt += 1) {
        const pid = await eventually(async () => {
          const { status } = await api().getOperation({ params: { id } });
          if (status === "done" || status === "failed") return undefined;
          const claim = await session.host.readFile(`${folderOf(id)}/claim.${attempt}`);
          return (JSON.parse(claim) as { pid: number }).pid;
        }, 60_000);
        if (pid === undefined) break;
        await sleep(random() * 1_500);
        await shell(`kill -KILL ${pid} || true`);
      }
      await ended(id, 90_000);
      return Number(await shell(`ls ${folderOf(id)} | grep -c '^claim'`)) - 1;
    };

    /** Begins it, kills its process, and asks for it again under the same key all the while. */
    const killed = async (path: string, body: object, key: string): Promise<{ id: string; interrupted: number }> => {
      const id = await post(path, body, key);
      const killing = killTwice(id);
      expect(await post(path, body, key)).toBe(id);
      const interrupted = await killing;
      expect(await post(path, body, key)).toBe(id);
      return { id, interrupted };
    };

    it("are taken up again, and so is the way back, without anything done twice", async () => {
      await install(oldOf(slowNames));
      const before = { listing: await listing(), etc: await etcTree() };
      const interrupted = { updates: 0, rollbacks: 0 };
      for (let round = 0; interrupted.updates < kills || interrupted.rollbacks < kills; round += 1) {
        expect(round).toBeLessThan(2 * kills);
        await shell(": > /srv/set-up");
        const update = await killed("apply", { packages: slowNames }, `update-${round}`);
        const { result } = await api().getOperation({ params: { id: update.id } });
        const snapshotId = (result as { snapshot_id: string }).snapshot_id;
        expect(result).toMatchObject({ success: true, error: null, packages_updated: 3 });
        expect(await versionsOf(slowNames)).toEqual({ "slow-a": "1.1", "slow-b": "1.1", "slow-c": "1.1" });
        expect(await shell("dpkg --audit; sort /srv/set-up")).toBe("slow-a\nslow-b\nslow-c\n");

        const back = await killed(`rollback/${snapshotId}`, {}, `rollback-${round}`);
        expect(await api().getOperation({ params: { id: back.id } })).toMatchObject({
          status: "done",
          result: { success: true, snapshot_id: snapshotId, packages_changed: 3 },
        });
        expect({ listing: await listing(), etc: await etcTree() }).toEqual(before);
        interrupted.updates += update.interrupted;
        interrupted.rollbacks += back.interrupted;
      }
      expect(await shell("dpkg --audit; ls /var/lib/steward-tasks/snapshots/work 2>/dev/null || true")).toBe("");
    }, 400_000);
  });

  it("that fill the disk in the middle say so with true counts, and are undone while it is still full", async () => {
    const names = ["bulky", "editor", "server"];
    await shell("mkdir -p /usr/share/bulky && mount -t tmpfs -o size=1m tmpfs /usr/share/bulky");
    try {
      await install(oldOf(["bulky"]));
      const before = { listing: await listing(), etc: await etcTree() };
      const result = await apply({ packages: names });
      const now = await versionsOf(names);
      expect(result).toMatchObject({ success: false, error: expect.stringMatching(/bulky.*No space left on device/) });
      // What it needs came first and is there; what came after it is unpacked, and said to be left so.
      expect(result).toMatchObject({
        packages_updated: 1,
        packages: expect.arrayContaining([
          { name: "editor", from: "1.0", to: "1.1" },
          { name: "server", from: "1.0", to: "1.1" },
        ]),
        error: expect.stringContaining("server 1.1 is unpacked"),
      });
      expect(result.packages).toHaveLength(2);
      expect(now).toEqual({ bulky: "1.0", editor: "1.1", server: "1.1" });
      const left = await shell("dpkg --audit");
      expect(left).toMatch(/^ server /m);
      expect(left).not.toMatch(/^ (?:bulky|editor) /m);
      const back = await api().rollback({ params: { snapshot_id: result.snapshot_id } });
      expect(back).toMatchObject({ success: true, packages_changed: 2 });
      expect({ listing: await listing(), etc: await etcTree() }).toEqual(before);
    } finally {
      await shell("dpkg --purge bulky >/dev/null 2>&1 || true; umount /usr/share/bulky");
    }
  });

  it("in which a script of a package fails say so, and are undone", async () => {
    await install(oldOf(["failing"]));
    const before = { listing: await listing(), etc: await etcTree() };
    const result = await apply({ packages: ["failing", "library"] });
    expect(result).toMatchObject({
      success: false,
      packages_updated: 2,
      error: expect.stringMatching(/failing.*(?:exit status 3|cannot reach the moon)/),
    });
    expect(await shell("dpkg --audit")).toMatch(/^ failing /m);
    expect(await versionsOf(["failing", "fresh", "library"])).toEqual({ failing: "1.1", fresh: "1.1", library: "1.1" });

    const back = await api().rollback({ params: { snapshot_id: result.snapshot_id } });
    expect(back).toMatchObject({ success: true, snapshot_id: result.snapshot_id, packages_changed: 3 });
    expect({ listing: await listing(), etc: await etcTree() }).toEqual(before);
    expect(await shell("dpkg --audit")).toBe("");
  });

  it("that are guarded are rolled back when they break a unit, and say so", async () => {
    await install(oldOf(["breaker"]));
    // Of the service it is not to be written, so that what is there is of those that look as root whether the host is well.
    await shell("rm -f /srv/who; touch /srv/who; chmod 666 /srv/who");
    const result = await apply({ packages: ["breaker"], guard: true });
    expect(result).toMatchObject({
      success: false,
      packages_updated: 0,
      guard: { outcome: "rolled_back", worse: expect.arrayContaining(["unit peer.service: failed"]) },
    });
    expect(await versionsOf(["breaker"])).toEqual({ breaker: "1.0" });
    // A program of the settings was chosen for the user of the service.
    const ran = (await shell("cat /srv/who")).trim().split("\n");
    expect([...new Set(ran)]).toEqual(["steward", await shell("id -Gn steward").then((text) => text.trim())]);
  }, 240_000);

  describe("dry runs", () => {
    it("show exactly what is then done", async () => {
      const plan = await api().applyUpdates({ body: {}, query: { dry_run: true } });
      expect(plan).toMatchObject({
        dry_run: true,
        packages: expect.arrayContaining(["editor", "library", "server"]),
        steps: expect.arrayContaining(["take a snapshot", "update library from 1.0 to 1.1"]),
      });
      expect(await versionsOf(["library"])).toEqual({ library: "1.0" });
    });
  });
});

import { describe, expect, it } from "vitest";
import { slowNames, updatesOn } from "./support/apt-updates.ts";
import { eventually } from "./support/eventually.ts";
import { changesSince, fileTree } from "./support/file-tree.ts";
import { describeOnHost } from "./support/session.ts";

describeOnHost("updates", (session) => {
  const { shell } = session;
  const { service, api, versionsOf, listing, etcTree, install, oldOf, newest, apply, begin, ended } =
    updatesOn(session);

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
        { path: "/etc/new-of-a-test", change: "added", foreign: true },
        { path: "/etc/of-a-test", change: "modified", foreign: true },
      ]),
    );

    const compare = (path: string) =>
      api().diffSnapshotFile({ params: { snapshot_id: result.snapshot_id }, query: { path } });
    expect(await compare("/etc/of-a-test")).toMatchObject({
      before: { type: "file", mode: "0644" },
      text: expect.stringContaining("+as it is\n"),
    });
    expect(await compare("/etc/shadow")).toMatchObject({
      text: null,
      reason: "it is shown only where every user of the host may read it",
    });

    const back = await api().rollback({ params: { snapshot_id: result.snapshot_id }, body: { etc: "all" } });
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
      steps: [
        expect.stringMatching(
          /^install 1 security update.*: library, behind a snapshot, and return to it when the host is worse afterwards$/,
        ),
      ],
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
      steps: [
        {
          status: "done",
          message: expect.stringMatching(/^1 package updated behind the snapshot \S+; nothing is worse than before$/),
        },
      ],
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
    const pid = await service().pid();
    const id = await begin({ packages: ["restarter"], create_snapshot: false }, "restarts-us");
    await eventually(async () => expect(await service().pid()).not.toBe(pid), 30_000);
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

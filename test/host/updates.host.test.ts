import { describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import type { Plan } from "#contract/operation.ts";
import { slowNames, updatesOn } from "./support/apt-updates.ts";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";

describeOnHost("updates", (session) => {
  const { shell } = session;
  const { service, api, versionsOf, listing, etcTree, install, oldOf, newest, apply, begin, ended } =
    updatesOn(session);

  /** A client whose call carries out this plan, or is refused. */
  const agreed = (plan: object) =>
    createClient({ url: service().url, key: service().adminKey, planToken: (plan as Partial<Plan>).plan_token });

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

    const rollback = { params: { snapshot_id: result.snapshot_id }, body: { etc: "all" } } as const;
    const way = await api().rollback({ ...rollback, query: { dry_run: true } });
    const back = await agreed(way).rollback(rollback);
    expect(back).toMatchObject({ success: true, packages_changed: 3 });
    expect({ listing: await listing(), etc: await etcTree() }).toEqual(before);
  });

  it("continue when the service is killed [upgrade-of-the-upgrader]", async () => {
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

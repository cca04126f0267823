import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { installedPrograms } from "./program.ts";
import { approvalsOf } from "./support/approvals.ts";
import { slowNames, updatesOn } from "./support/apt-updates.ts";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";

describeOnHost("an update that others approve", (session) => {
  const { shell } = session;
  const { service, api, install, oldOf, versionsOf } = updatesOn(session);
  const { ask, approve } = approvalsOf(() => service().url);

  it("is installed once, whenever the service is killed after it was approved", { timeout: 600_000 }, async () => {
    const { key } = await api().createKey({ body: { name: "killed", scopes: ["propose:updates:apply"] } });
    const after = async (id: string, ends: readonly string[]) =>
      eventually(async () => {
        const { json } = await ask(key, "GET", `/approvals/${id}`);
        expect(ends).toContain(json.status);
        return json;
      }, 120_000);
    const approved: string[] = [];
    for (const delayMs of [0, 30, 300, 1_000, 2_500, 5_000]) {
      await install(oldOf(slowNames));
      await shell("rm -f /srv/set-up");
      const { status, json: waits } = await ask(key, "POST", "/updates/apply", { body: { packages: slowNames } });
      expect([status, waits.status]).toEqual([202, "pending"]);
      approved.push(waits.id);
      const approving = approve(service().adminKey, waits).catch(() => undefined);
      await sleep(delayMs);
      await shell("systemctl kill --signal=KILL steward.service");
      await service().restart();
      await approving;
      // Whoever was too early to be heard approves it again.
      const { status: heard } = await after(waits.id, ["pending", "running", "done", "failed"]);
      if (heard === "pending") await approve(service().adminKey, waits);
      const { operation_id: id, ...end } = await after(waits.id, ["done", "failed"]);
      expect([delayMs, end.status, end.error]).toEqual([delayMs, "done", null]);
      expect(await api().getOperation({ params: { id: id ?? "" } })).toMatchObject({
        status: "done",
        result: { success: true, packages_updated: slowNames.length },
      });
      expect(await versionsOf(slowNames)).toEqual(Object.fromEntries(slowNames.map((name) => [name, "1.1"])));
      // Each says when it is set up.
      expect((await shell("sort /srv/set-up")).trim().split("\n")).toEqual(slowNames);
    }
    // It fails where the chain is broken.
    await session.host.exec([...installedPrograms, "audit", "verify"]);
    const { entries } = await api().listAudit({ query: { operation: "applyUpdates", limit: 200 } });
    const runs = entries.filter(({ status, key_name: name }) => name === "killed" && status !== 202);
    // What the kill came before has begun no operation, and says that it failed.
    const begun = runs.filter(({ operation_id: id }) => id !== null);
    expect(runs.filter((each) => !begun.includes(each)).map(({ outcome }) => outcome)).not.toContain("ok");
    expect(begun.map(({ target, outcome }) => [target?.["approval"], outcome])).toEqual(
      approved.toReversed().map((id) => [id, "ok"]),
    );
  });
});

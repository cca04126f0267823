import { expect, it } from "vitest";
import { scopes } from "#contract/scopes.ts";
import { installedPrograms } from "./program.ts";
import { approvalsOf } from "./support/approvals.ts";
import { slowNames, updatesOn } from "./support/apt-updates.ts";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";
import { property } from "./support/systemctl.ts";

const unit = "cron.service";

describeOnHost("approvals on a host", (session) => {
  const { shell } = session;
  const { service, api, install, oldOf, newest, versionsOf } = updatesOn(session);
  const { ask, approve } = approvalsOf(() => service().url);
  const newKey = async (name: string, given: readonly string[]): Promise<string> =>
    (await api().createKey({ body: { name, scopes: [...given] } })).key;
  const mainPid = (): Promise<string> => property(session, unit, "MainPID");
  const restart = (key: string) => ask(key, "POST", `/system/services/${unit}/restart`);
  const statusOf = (key: string, id: string, expected: readonly string[]) =>
    eventually(async () => {
      const { json } = await ask(key, "GET", `/approvals/${id}`);
      expect(expected).toContain(json.status);
      return json;
    });
  /** Fails where the chain is broken. */
  const verifyAudit = () => session.host.exec([...installedPrograms, "audit", "verify"]);

  it("install an update once, whenever Steward is killed after they are given", async () => {
    const key = await newKey("killed", ["propose:updates:apply"]);
    const isRunning = async () => expect(await newest()).toMatchObject({ status: "running" });
    const timestamps: readonly ((id: string) => Promise<unknown>)[] = [
      () => Promise.resolve(),
      (id) => statusOf(key, id, ["approved", "running", "done", "failed"]),
      () => eventually(isRunning),
      () => eventually(() => shell("test -s /srv/set-up")),
    ];
    const approved: string[] = [];
    for (const [round, timestamp] of timestamps.entries()) {
      await install(oldOf(slowNames));
      await shell("rm -f /srv/set-up");
      const { status, json: waits } = await ask(key, "POST", "/updates/apply", { body: { packages: slowNames } });
      expect([status, waits.status]).toEqual([202, "pending"]);
      approved.push(waits.id);
      const approving = approve(service().adminKey, waits).catch(() => undefined);
      await timestamp(waits.id);
      await shell("systemctl kill --signal=KILL steward.service");
      await service().restart();
      await approving;
      // An approval that the kill came before is given again.
      const { status: heard } = await statusOf(key, waits.id, ["pending", "running", "done", "failed"]);
      if (heard === "pending") await approve(service().adminKey, waits);
      const { operation_id: id, ...end } = await statusOf(key, waits.id, ["done", "failed"]);
      expect([round, end.status, end.error]).toEqual([round, "done", null]);
      expect(await api().getOperation({ params: { id: id ?? "" } })).toMatchObject({
        status: "done",
        result: { success: true, packages_updated: slowNames.length },
      });
      expect(await versionsOf(slowNames)).toEqual(Object.fromEntries(slowNames.map((name) => [name, "1.1"])));
      // Each package writes a line when it is set up.
      expect((await shell("sort /srv/set-up")).trim().split("\n")).toEqual(slowNames);
    }
    await verifyAudit();
    const { entries } = await api().listAudit({ query: { operation: "applyUpdates", limit: 200 } });
    const runs = entries.filter(({ status, key_name: name }) => name === "killed" && status !== 202);
    // What the kill came before has started no operation, and says that it failed.
    const started = runs.filter(({ operation_id: id }) => id !== null);
    expect(runs.filter((each) => !started.includes(each)).map(({ outcome }) => outcome)).not.toContain("ok");
    expect(started.map(({ target, outcome }) => [target?.["approval"], outcome])).toEqual(
      approved.toReversed().map((id) => [id, "ok"]),
    );
  });

  it("are demanded by reloaded settings, and carry out nothing that a window holds back", async () => {
    const colleague = await newKey("colleague", scopes);
    await session.host.writeFile(
      "/etc/steward/config.yaml",
      `approvals: { require_for: [services:restart] }\nwindows: [{ name: freeze, cron: "* * * * *", duration: 5m, deny: [services:restart] }]\n`,
    );
    await shell("systemctl reload steward.service");
    // A reload ends before the service has read its settings. Until then a restart needs no approval.
    await eventually(async () => expect((await api().listWindows()).windows).toMatchObject([{ name: "freeze" }]));
    const before = await mainPid();
    const { status, json: waits } = await restart(service().adminKey);
    expect(status).toBe(202);
    expect(await approve(colleague, waits)).toMatchObject({
      status: 409,
      json: { error: { details: { reason: "outside_window", window: "freeze" } } },
    });
    expect(await mainPid()).toBe(before);
    const override = { "X-Window-Override": "the clock is wrong" };
    expect(await approve(colleague, waits, override)).toMatchObject({ status: 200, json: { status: "done" } });
    expect(await mainPid()).not.toBe(before);
  });
});

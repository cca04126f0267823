import { expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import type { Plan } from "#contract/operation.ts";
import { updatesOn } from "./support/apt-updates.ts";
import { eventually } from "./support/eventually.ts";
import { changesSince, fileTree } from "./support/file-tree.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";

describeOnHost("updates", (session) => {
  const { shell } = session;
  const { service, api, versionsOf, install, oldOf, begin, ended } = updatesOn(session);

  /** A client whose call carries out this plan, or is refused. */
  const agreed = (plan: object) =>
    createClient({ url: service().url, key: service().adminKey, planToken: (plan as Partial<Plan>).plan_token });

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
          /^install 1 security update.*: library from 1\.0 to 1\.1, behind a snapshot, and return to it when the host is worse afterwards$/,
        ),
      ],
    });
    expect(await versionsOf(["library"])).toEqual({ library: "1.0" });
    // Snapper's daemon, which hooks of apt call, writes there when it ends.
    const others = [/^\/var\/log\/(journal|snapper\.log$)/];
    expect(changesSince(before, await fileTree(session), { ignore: others })).toEqual({
      added: [],
      removed: [],
      changed: [],
    });
    const operation = async () => (await api().listOperations({ query: { limit: 1 } })).operations[0]?.id;
    const earlier = await operation();
    expect(await agreed(plan).fixCheck({ params: check })).toMatchObject({
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

  it("are cancelled until they change packages, and go on from there", async () => {
    await install(oldOf(["gated"]));
    await shell("touch /srv/gate; rm -f /srv/at-gate");
    const onlyReads = (await api().createKey({ body: { name: "reads", scopes: ["updates:read"] } })).key;
    const id = await begin({ packages: ["gated"] });
    const reader = createClient({ url: service().url, key: onlyReads });
    expect(await refusal(reader.cancelOperation({ params: { id } }))).toMatchObject({ code: "FORBIDDEN" });
    expect(await api().cancelOperation({ params: { id } })).toMatchObject({
      status: "failed",
      error: { code: "CONFLICT", details: { reason: "cancelled" } },
    });
    expect(await versionsOf(["gated"])).toEqual({ gated: "1.0" });
    expect(await api().cancelOperation({ params: { id } })).toMatchObject({ id, status: "failed" });

    const next = await begin({ packages: ["gated"] });
    await eventually(() => shell("test -e /srv/at-gate"), 60_000);
    expect(await refusal(api().cancelOperation({ params: { id: next } }))).toMatchObject({
      code: "CONFLICT",
      details: { reason: "not_cancellable" },
    });
    await shell("rm /srv/gate");
    expect(await ended(next)).toMatchObject({ status: "done", result: { success: true, packages_updated: 1 } });
    expect(await versionsOf(["gated"])).toEqual({ gated: "1.1" });
    expect(await refusal(api().cancelOperation({ params: { id: next } }))).toMatchObject({
      details: { reason: "ended" },
    });
    const audited = await shell("grep cancelOperation /var/lib/steward/audit/audit-000000000001.log");
    expect(
      audited
        .trim()
        .split("\n")
        .map((line) => (JSON.parse(line) as { outcome: string }).outcome),
    ).toEqual(["refused", "ok", "ok", "refused", "refused"]);
  });

  it("are carried out as planned or not at all, also over a restart of the service", async () => {
    const name = "slow-a";
    await install(oldOf([name]));
    const [everything, one] = [{ body: {} }, { body: { packages: [name] } }];
    const plans = {
      everything: await api().applyUpdates({ ...everything, query: { dry_run: true } }),
      one: await api().applyUpdates({ ...one, query: { dry_run: true } }),
    };
    await shell("systemctl restart steward");
    await eventually(() => api().getHealth());
    await shell(`apt-mark hold ${name}`);
    expect(await refusal(agreed(plans.everything).applyUpdates(everything))).toMatchObject({
      code: "CONFLICT",
      details: { reason: "plan_changed", plan: { dry_run: true } },
    });
    await shell(`apt-mark unhold ${name}`);
    expect(await versionsOf([name])).toEqual({ [name]: "1.0" });
    expect(await agreed(plans.one).applyUpdates(one)).toMatchObject({ success: true, packages_updated: 1 });
    expect(await versionsOf([name])).toEqual({ [name]: "1.1" });
    expect(await refusal(agreed(plans.one).applyUpdates(one))).toMatchObject({ details: { reason: "plan_used" } });

    // A restart does not outlive its request.
    const restart = { params: { name: "cron.service" } };
    const once = agreed(await api().restartService({ ...restart, query: { dry_run: true } }));
    expect(await once.restartService(restart)).toMatchObject({ success: true });
    expect(await refusal(once.restartService(restart))).toMatchObject({ details: { reason: "plan_used" } });
  });
});

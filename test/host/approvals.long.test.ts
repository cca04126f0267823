import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Approval } from "#contract/approvals.ts";
import { scopes } from "#contract/scopes.ts";
import { installedPrograms } from "./program.ts";
import { approvalsOf } from "./support/approvals.ts";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";
import { property } from "./support/systemctl.ts";

const unit = "cron.service";

describe.each(["btrfs", "ext4"] as const)("with its root on %s,", (fileSystem) => {
  describeOnHost("a host whose changes others approve", { fileSystem }, (session) => {
    const { ask, approve } = approvalsOf(() => session.service.url);
    const newKey = async (name: string, given: readonly string[]): Promise<string> =>
      (await session.api.createKey({ body: { name, scopes: [...given] } })).key;
    const mainPid = (): Promise<string> => property(session, unit, "MainPID");
    const restart = (key: string) => ask(key, "POST", `/system/services/${unit}/restart`);

    it("restarts a service once, when it was approved, and not before", { timeout: 120_000 }, async () => {
      const proposer = await newKey("proposer", [`propose:services:restart:${unit}`]);
      const before = await mainPid();
      const { status, json: waits } = await restart(proposer);
      expect([status, waits.status, waits.plan.units]).toEqual([202, "pending", [unit]]);
      expect(await approve(proposer, waits)).toMatchObject({ status: 403 });
      await session.service.restart();
      expect(await mainPid()).toBe(before);

      expect(await approve(session.service.adminKey, waits)).toMatchObject({ status: 200, json: { status: "done" } });
      const after = await mainPid();
      expect(after).not.toBe(before);
      expect(await approve(session.service.adminKey, waits)).toMatchObject({ status: 409 });
      expect(await mainPid()).toBe(after);
      const { entries } = await session.api.listAudit({ query: { operation: "restartService", outcome: "ok" } });
      expect(entries.find((each) => each.status !== 202)).toMatchObject({
        key_name: "proposer",
        target: { approved_by: expect.stringContaining("admin") },
      });
      // It fails where the chain is broken.
      await session.host.exec([...installedPrograms, "audit", "verify"]);
    });

    it("follows what outlives its request to the end", { timeout: 120_000 }, async () => {
      const proposer = await newKey("keeper", ["propose:updates:apply"]);
      const { json: waits } = await ask(proposer, "POST", "/updates/snapshots", { body: {} });
      const { json: approved } = await approve(session.service.adminKey, waits);
      expect(approved.operation_id).toEqual(expect.any(String));
      await eventually(async () => {
        const { json } = await ask(proposer, "GET", `/approvals/${waits.id}`);
        expect(json).toMatchObject({ status: "done", operation_id: approved.operation_id });
      });
      expect((await session.api.listSnapshots()).snapshots).toHaveLength(1);
    });

    it("tells the truth of what outlives its request, killed while it is approved or runs, and does it once", {
      timeout: 300_000,
    }, async () => {
      const proposer = await newKey("killed", ["propose:updates:apply"]);
      const startAgain = async (): Promise<void> => {
        await session.shell("systemctl kill --signal=KILL steward.service");
        await session.service.restart();
      };
      for (const delayMs of [0, 30, 100, 300, 1000]) {
        const description = `killed after ${delayMs} ms`;
        const { json: waits } = await ask(proposer, "POST", "/updates/snapshots", { body: { description } });
        const approving = approve(session.service.adminKey, waits).catch(() => undefined);
        await sleep(delayMs);
        await startAgain();
        await approving;
        const end = await eventually(async () => {
          const { json } = await ask(proposer, "GET", `/approvals/${waits.id}`);
          expect(["pending", "done", "failed"]).toContain(json.status);
          return json;
        });
        // Whoever was too early to be heard approves it again.
        if (end.status === "pending") await approve(session.service.adminKey, waits);
        const last = await eventually(async () => {
          const { json } = await ask(proposer, "GET", `/approvals/${waits.id}`);
          expect(["done", "failed"]).toContain(json.status);
          return json;
        });
        const { snapshots } = await session.api.listSnapshots();
        const made = snapshots.filter((each) => each.description === description).length;
        expect([delayMs, last.status, last.error, made]).toEqual([delayMs, "done", null, 1]);
        const { operations } = await session.api.listOperations();
        expect(operations.find(({ id }) => id === last.operation_id)).toMatchObject({ status: "done" });
      }
      // It fails where the chain is broken.
      await session.host.exec([...installedPrograms, "audit", "verify"]);
      const { entries } = await session.api.listAudit({ query: { operation: "createSnapshot", limit: 200 } });
      const runs = entries.filter(({ status, key_name: name }) => name === "killed" && status !== 202);
      const approvals = runs.map(({ target }) => target?.["approval"]);
      expect(new Set(approvals).size).toBe(approvals.length);
    });

    it("takes settings at a reload, and carries nothing out that a window holds back", {
      timeout: 120_000,
    }, async () => {
      const colleague = await newKey("colleague", scopes);
      await session.host.writeFile(
        "/etc/steward/config.yaml",
        `approvals: { require_for: [services:restart] }\nwindows: [{ name: freeze, cron: "* * * * *", duration: 5m, deny: [services:restart] }]\n`,
      );
      await session.shell("systemctl reload steward.service");
      const before = await mainPid();
      let waits: Approval | undefined;
      await eventually(async () => {
        const { status, json } = await restart(session.service.adminKey);
        expect(status).toBe(202);
        waits = json;
      });
      if (waits === undefined) throw new Error("expected an approval");
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
});

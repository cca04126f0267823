import { beforeEach, describe, expect, it } from "vitest";
import type { NotificationEvent } from "#contract/alerts.ts";
import type { StoredNotification } from "#domain/ports/notifications.ts";
import { createFakeClock, type FakeClock } from "../../../test/fakes/clock.ts";
import { createEvents, type EndedOperationEvent, operationDraft } from "./events.ts";
import type { Draft } from "./messages.ts";

const at = Date.parse("2026-01-02T03:04:05.678Z");

const operation = (
  state: Partial<EndedOperationEvent["state"]>,
  keyId: string | null = "key-1",
): EndedOperationEvent => ({
  spec: { id: "operation-1", kind: "updates.apply", keyId },
  state: { finishedAt: at, result: { success: true }, error: null, ...state },
});

describe("the notification of an operation", () => {
  it("is not sent for one that succeeded", () => {
    expect(operationDraft(operation({}), "host", at)).toBeUndefined();
    const kept = { success: true, guard: { outcome: "kept", message: "nothing is worse", worse: [] } };
    expect(operationDraft(operation({ result: kept }), "host", at)).toBeUndefined();
  });

  it.each([
    [
      { error: { code: "INTERNAL", message: "disk full", details: {} } },
      "operation_failed",
      "warning",
      "[failed]",
      "disk full",
    ],
    [{ result: { success: false, message: "dpkg failed" } }, "operation_failed", "warning", "[failed]", "dpkg failed"],
    [
      { result: { success: false, guard: { outcome: "rolled_back", message: "web is down" } } },
      "operation_rolled_back",
      "warning",
      "[rolled back]",
      "web is down",
    ],
    [
      { result: { success: false, guard: { outcome: "rolled_back_still_worse", message: "web is down" } } },
      "operation_rolled_back",
      "critical",
      "[rolled back, still worse]",
      "web is down",
    ],
    [
      { result: { success: false, guard: { outcome: "rollback_failed", message: "no files" } } },
      "operation_rolled_back",
      "critical",
      "[rollback failed]",
      "no files",
    ],
  ] as const)("says how it failed: %j", (state, kind, severity, title, result) => {
    const draft = operationDraft(operation(state as Partial<EndedOperationEvent["state"]>), "host", at);
    expect(draft).toMatchObject({ kind, severity, title: `${title} updates.apply on host`, isGood: false });
    expect(draft?.facts).toContainEqual(["Result", result]);
  });
});

describe("notifications of events", () => {
  let clock: FakeClock;
  let posted: { readonly draft: Draft; readonly channels: readonly string[] }[];
  beforeEach(() => {
    clock = createFakeClock(at);
    posted = [];
  });

  const open = (reported: readonly NotificationEvent[] = ["operations", "plugins", "keys", "approvals", "audit"]) =>
    createEvents({
      outbox: {
        post: (draft, channels) => void posted.push({ draft, channels }),
        list: () =>
          posted.map(
            ({ draft }, index): StoredNotification => ({
              id: String(index),
              kind: draft.kind,
              subject: draft.subject,
              channel: "email",
              to: [],
              message: { id: String(index), ...draft },
              attempts: 1,
              outcome: "sent",
              error: null,
              endedAt: draft.at,
            }),
          ),
      },
      isReported: (event) => reported.includes(event),
      has: () => true,
      host: "host",
      publicUrl: "https://hosts.example.org/web1",
      clock,
    });
  const key = { id: "key-1", name: "backup", expiresAt: at - 1_000 };
  const kinds = () => posted.map(({ draft: { kind, subject } }) => `${kind} ${subject}`);

  it("of a changed audit log are critical and say where", () => {
    const broken = { file: "/var/lib/steward/audit/audit-000000000001.log", line: 17, seq: 17, what: "it was changed" };
    open().auditBroken(broken);
    open().auditBroken(broken);
    expect(posted.map(({ draft }) => draft)).toMatchObject([
      { kind: "audit_broken", subject: "entry 17", severity: "critical", title: "The audit log was changed on host" },
    ]);
    expect(posted[0]?.draft.facts).toContainEqual(["Where", "/var/lib/steward/audit/audit-000000000001.log:17"]);
    open(["operations"]).auditBroken({ ...broken, seq: 18 });
    expect(posted).toHaveLength(1);
  });

  it("of a call that waits for approval say who asked for what, and how to decide it", () => {
    const plan = { dry_run: true, steps: ["restart nginx.service"], units: [], packages: [], requires_reboot: false };
    const event = {
      id: "approval-1",
      operation: "restartService",
      proposer: { keyId: "key-1", keyName: "deploy", credential: "key", granted: [], expiresAt: null },
      reason: "it hangs",
      plan: { ...plan, bytes: 0, rollback: "none" },
      expiresAt: at + 3_600_000,
    } as const;
    open().approvalWanted(event as never);
    expect(posted[0]?.draft).toMatchObject({
      kind: "approval_wanted",
      subject: "approval-1",
      title: "deploy wants restartService to be approved on host",
      facts: expect.arrayContaining([
        ["Plan", "restart nginx.service"],
        ["Reason", "it hangs"],
        ["Decide with", "steward approve approval-1"],
        ["Address", "https://hosts.example.org/web1/console/approvals?id=approval-1"],
      ]),
    });
    open(["operations"]).approvalWanted({ ...event, id: "approval-2" } as never);
    expect(posted).toHaveLength(1);
  });

  it("are sent once an hour for each subject, over restarts", async () => {
    const events = open();
    events.expiredKeyUsed(key);
    events.expiredKeyUsed(key);
    events.expiredKeyUsed({ ...key, id: "key-2" });
    open().expiredKeyUsed(key);
    expect(kinds()).toEqual(["expired_key_used key-1", "expired_key_used key-2"]);
    await clock.advance(60 * 60_000);
    events.expiredKeyUsed(key);
    open().expiredKeyUsed({ ...key, id: "key-2" });
    expect(kinds()).toHaveLength(4);
  });

  it("are not sent if settings leave them out, for automatic updates twice, or after a day", () => {
    const events = open(["operations"]);
    events.expiredKeyUsed(key);
    events.pluginDisabled({ plugin: "disks", fault: "it changed" });
    const failed = { result: { success: false, message: "no" } };
    events.operationEnded(operation(failed, null));
    events.operationEnded(operation({ ...failed, finishedAt: at - 25 * 60 * 60_000 }));
    expect(kinds()).toEqual([]);
    events.operationEnded(operation(failed));
    expect(kinds()).toEqual(["operation_failed operation-1"]);
  });

  it("are one when operations of a kind fail repeatedly for the same reason", () => {
    const events = open();
    const failing = (id: string, message: string) => {
      const ended = operation({ result: { success: false, message } });
      events.operationEnded({ ...ended, spec: { ...ended.spec, id } });
    };
    for (let count = 0; count < 5; count += 1) failing(`operation-${count}`, "disk full");
    failing("operation-9", "no network");
    open().operationEnded(operation({ result: { success: false, message: "disk full" } }));
    expect(kinds()).toEqual(["operation_failed operation-0", "operation_failed operation-9"]);
  });

  it("go to the channels of alerts of their severity", () => {
    const events = open();
    events.operationEnded(operation({ result: { success: false, guard: { outcome: "rollback_failed" } } }));
    events.pluginDisabled({ plugin: "disks", fault: "it changed" });
    expect(posted.map(({ channels }) => channels)).toEqual([["paging_chat", "paging_email"], ["email"]]);
  });
});

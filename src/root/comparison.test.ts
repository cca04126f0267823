import { describe, expect, it } from "vitest";
import { auditEvent, logRootRequest } from "#domain/audit/entry.ts";
import { createFakeAuditLog } from "../../test/fakes/audit-log.ts";
import { createFakeClock } from "../../test/fakes/clock.ts";
import { createFakeJournal } from "../../test/fakes/journal.ts";
import { collectRequests, compareRequests, readRootRecords } from "./comparison.ts";
import { createRootRecord } from "./record.ts";

const never = new AbortController().signal;
const request = (digit: string): string => `request-${digit.repeat(32)}`;
const operation = "20260101-000000-000-00000001";

/** A service, root and a journal, with one clock. */
function createHost() {
  const clock = createFakeClock();
  const log = createFakeAuditLog();
  const journal = createFakeJournal();
  const heads: number[] = [];
  const asRoot = (uid = 0, unit = "steward-task@1-2-997.service") =>
    createRootRecord({
      clock,
      write: (line) =>
        void journal.write({
          message: line.trimEnd(),
          time: clock.now() * 1000,
          unit,
          uid,
          priority: 5,
          identifier: "steward",
        }),
    });
  const start = (logs = true): void =>
    log.record(auditEvent("service.started", clock.now(), { target: logs ? { root_requests: "logged" } : {} }));
  return {
    clock,
    log,
    journal,
    asRoot,
    start,
    /** The service logs its newest entry to the journal. */
    head: () => void heads.push(log.entries.length),
    asked: (id: string, request: string) =>
      logRootRequest({ log, clock }, { id, request, operationId: id.startsWith("request-") ? null : id }),
    /** Root does what it was asked for. */
    did(id: string, request: string): void {
      const record = asRoot();
      record({ id, request, phase: "begun", input: {} });
      record({ id, request, phase: "done" });
    },
    async compare(from = 0) {
      const requests = collectRequests();
      const { entries } = await log.list(
        {
          since: undefined,
          until: undefined,
          operation: undefined,
          keyId: undefined,
          target: undefined,
          outcome: undefined,
          limit: 1000,
          cursor: undefined,
        },
        never,
      );
      for (const entry of entries.toReversed()) if (entry.seq > from) requests.add(entry);
      const { records, missing } = await readRootRecords(journal, never);
      expect(missing).toBeUndefined();
      return compareRequests(requests, records, heads);
    },
  };
}

describe("requests in the audit log and in the record of the privileged side", () => {
  it("agree when the service has logged them", async () => {
    const host = createHost();
    host.start();
    host.head();
    host.asked(request("1"), "plugin.run");
    host.did(request("1"), "plugin.run");
    host.asked(operation, "updates.apply");
    host.did(operation, "updates.apply");
    // Started again after a crash.
    host.asked(operation, "updates.apply");
    host.did(operation, "updates.apply");
    host.head();
    expect(await host.compare()).toEqual({ matched: 2, mismatches: [], notes: [] });
  });

  it("differ when the log lacks one, or has another in its place", async () => {
    const host = createHost();
    host.start();
    host.did(request("1"), "plugin.run");
    host.did(operation, "updates.apply");
    host.asked(request("2"), "packages.refresh");
    host.did(request("2"), "plugin.run");
    host.asRoot()({
      id: request("3"),
      request: "shell.run",
      phase: "refused",
      error: "it is not on the list",
    });
    host.asRoot()({ id: request("4"), request: "", phase: "refused", error: "it is not JSON" });
    const { mismatches, matched } = await host.compare();
    expect(matched).toBe(0);
    expect(mismatches).toEqual([
      expect.stringMatching(/^root did plugin\.run \(request-1+\) at 2026-01-01T.*, of which the log has no entry$/),
      expect.stringMatching(/^root did updates\.apply \(20260101-/),
      expect.stringMatching(
        /^root was asked for plugin\.run \(request-2+\) at .*, and the log has packages\.refresh in its place$/,
      ),
      expect.stringMatching(/^root refused shell\.run \(request-3+\)/),
      expect.stringMatching(/^root refused something \(request-4+\)/),
    ]);
  });

  it("do not differ by reads and by requests without an effect", async () => {
    const host = createHost();
    host.start();
    host.asRoot()({ id: request("1"), request: "plugin.call", phase: "refused", error: "not confirmed" });
    host.asRoot()({ id: request("2"), request: "", phase: "left" });
    expect(await host.compare()).toEqual({ matched: 0, mismatches: [], notes: [] });
  });

  it("differ when the record lacks one, if the journal covers that time", async () => {
    const host = createHost();
    host.start();
    host.head();
    host.asked(request("1"), "plugin.run");
    // Just now: root may not have started.
    expect(await host.compare()).toMatchObject({
      mismatches: [],
      notes: [expect.stringMatching(/^1 request to root cannot/)],
    });
    host.head();
    expect((await host.compare()).mismatches).toEqual([
      expect.stringMatching(/^the log says that root was asked for plugin\.run \(request-1+\) at .*root has no record/),
    ]);
  });

  it.each<[string, (host: ReturnType<typeof createHost>) => void]>([
    [
      "the service says that it got no answer",
      (host) => {
        host.head();
        host.asked(request("1"), "plugin.run")();
        host.head();
      },
    ],
    [
      "root found nothing to do",
      (host) => {
        host.head();
        host.asked(request("1"), "plugin.run");
        host.asRoot()({ id: request("1"), request: "", phase: "left" });
        host.head();
      },
    ],
  ])("do not differ when %s", async (_, happens) => {
    const host = createHost();
    host.start();
    happens(host);
    expect(await host.compare()).toMatchObject({ mismatches: [], notes: [] });
  });

  it.each<[string, (host: ReturnType<typeof createHost>) => void]>([
    [
      "the journal begins after it",
      (host) => {
        host.asked(request("1"), "plugin.run");
        host.head();
      },
    ],
    [
      "the service was killed before it logged another head, and the journal may have lost as much",
      (host) => {
        host.head();
        host.asked(request("1"), "plugin.run");
        host.start();
        host.head();
      },
    ],
  ])("cannot be compared when %s", async (_, happens) => {
    const host = createHost();
    host.start();
    happens(host);
    expect(await host.compare()).toEqual({
      matched: 0,
      mismatches: [],
      notes: ["1 request to root cannot be compared: the journal does not have, or not yet, what root recorded then"],
    });
  });

  it("cannot be compared before the service logged them", async () => {
    const host = createHost();
    host.start(false);
    host.did(request("1"), "plugin.run");
    const note = (count: string) => [
      expect.stringMatching(new RegExp(`^${count} to root cannot be compared: the log has no entries`)),
    ];
    expect(await host.compare()).toEqual({ matched: 0, mismatches: [], notes: note("1 request") });
    await host.clock.advance(1000);
    host.start();
    expect(await host.compare()).toEqual({ matched: 0, mismatches: [], notes: note("1 request") });
    host.did(request("2"), "plugin.run");
    expect((await host.compare()).mismatches).toHaveLength(1);
    // The oldest file is gone.
    await host.clock.advance(1000);
    host.asked(request("3"), "plugin.run");
    host.did(request("3"), "plugin.run");
    expect(await host.compare(2)).toEqual({ matched: 1, mismatches: [], notes: note("2 requests") });
  });

  it("are read from root in its units alone", async () => {
    const host = createHost();
    host.start();
    const record = { id: request("1"), request: "plugin.run", phase: "begun" } as const;
    host.asRoot(997)(record);
    host.asRoot(0, "steward.service")(record);
    for (const message of [
      '{"msg":"root request"}',
      '"msg":"root request"}',
      '{"id":"ask","request":"","phase":"x","msg":"root request"}',
    ])
      host.journal.write({ message, uid: 0, unit: "steward-task@ask.service" });
    expect(await readRootRecords(host.journal, never)).toEqual({ records: [], missing: undefined });
    host.asRoot()(record);
    expect((await readRootRecords(host.journal, never)).records).toHaveLength(1);
  });

  it("differ when the privileged side did one twice", async () => {
    const host = createHost();
    host.start();
    host.asked(request("1"), "packages.refresh");
    host.did(request("1"), "packages.refresh");
    expect((await host.compare()).mismatches).toEqual([]);
    host.did(request("1"), "packages.refresh");
    expect((await host.compare()).mismatches).toEqual([
      expect.stringMatching(/^root did packages\.refresh \(request-1+\) again at .*, of which the log has one entry$/),
    ]);
    // One that was interrupted is started again.
    host.asked(operation, "updates.apply");
    for (let attempt = 0; attempt < 2; attempt += 1) host.did(operation, "updates.apply");
    expect((await host.compare()).mismatches).toHaveLength(1);
  });

  it("are not compared when the journal is unreadable", async () => {
    const { journal } = createHost();
    journal.available = false;
    expect(await readRootRecords(journal, never)).toEqual({ records: [], missing: "permission denied" });
  });
});

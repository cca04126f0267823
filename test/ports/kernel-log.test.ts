import { describe, expect, it } from "vitest";
import { createHostJournal } from "#adapters/journald/index.ts";
import { createKernelLog } from "#adapters/journald/kernel-log.ts";
import type { KernelLog } from "#domain/ports/journal.ts";
import { createFakeKernelLog } from "../fakes/kernel-log.ts";
import { boots, start } from "../journals/entries.ts";
import { createLiveFolder } from "../journals/live-folder.ts";
import { canMakeJournals, whyNoJournals } from "../journals/programs.ts";

interface UnderTest {
  readonly log: KernelLog;
  readonly dispose: () => void;
}

const lines = [
  [0, "kernel", "Out of memory: Killed process 1 (early) total-vm:1kB"],
  [2_000_000, "kernel", "usb 1-1: new device"],
  [3_000_000, "syslog", "somebody writes Killed process 2 (nobody)"],
  [4_000_000, "kernel", "Memory cgroup out of memory: Killed process 3 (late) total-vm:1kB"],
] as const;

const timestamp = (micros: number): string => new Date(micros / 1000).toISOString();

function onFiles(): UnderTest {
  const folder = createLiveFolder();
  folder.append(
    "system.journal",
    lines.map(([offset, transport, message]) => ({
      realtime: start + offset,
      monotonic: offset + 1,
      bootId: boots[0] ?? "",
      fields: [
        ["MESSAGE", message],
        ["_TRANSPORT", transport],
        ["PRIORITY", "3"],
      ],
    })),
  );
  const { journal, dispose } = createHostJournal({ dir: folder.path, onUnreadable: () => undefined });
  return {
    log: createKernelLog({ journal, dir: folder.path }),
    dispose() {
      dispose();
      folder.remove();
    },
  };
}

function onFake(): UnderTest {
  const kernel = lines.filter(([, transport]) => transport === "kernel");
  const messages = kernel.map(([offset, , message]) => ({ timestamp: timestamp(start + offset), message }));
  return { log: createFakeKernelLog(messages), dispose: () => undefined };
}

const signal = new AbortController().signal;
const messagesOf = async (log: KernelLog, pattern: string, since: number) =>
  (await log.matching(pattern, since, signal))?.map(({ message }) => message);

function suite(make: () => UnderTest): void {
  it("finds what the kernel itself wrote since a moment", async () => {
    const { log, dispose } = make();
    try {
      expect(await messagesOf(log, "Killed process [0-9]+", start)).toEqual([lines[0][2], lines[3][2]]);
      expect(await messagesOf(log, "Killed process [0-9]+", start + 1)).toEqual([lines[3][2]]);
      expect(await messagesOf(log, "No such thing", start)).toEqual([]);
      const [first] = (await log.matching("Killed", start, signal)) ?? [];
      expect(Date.parse(first?.timestamp ?? "") * 1000).toBe(start);
    } finally {
      dispose();
    }
  });
}

describe("kernel log: fake", () => {
  suite(onFake);

  it("knows when there is no journal", async () => {
    expect(await createFakeKernelLog(undefined).matching("x", 0, signal)).toBeUndefined();
  });
});

if (!canMakeJournals()) process.stdout.write(`skipped: kernel log on journal files: ${whyNoJournals() ?? ""}\n`);
describe.skipIf(!canMakeJournals())("kernel log: journal files", () => suite(onFiles));

describe("kernel log: without a journal", () => {
  it("says so", async () => {
    const { journal, dispose } = createHostJournal({ dir: "/nonexistent", onUnreadable: () => undefined });
    expect(await createKernelLog({ journal, dir: "/nonexistent" }).matching("x", 0, signal)).toBeUndefined();
    dispose();
  });
});

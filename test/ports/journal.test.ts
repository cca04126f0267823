import { describe } from "vitest";
import { createHostJournal } from "#adapters/journald/index.ts";
import { createFakeJournal } from "../fakes/journal.ts";
import type { Field } from "../journals/export-format.ts";
import { createLiveDirectory, entriesOfNow } from "../journals/live-directory.ts";
import { canMakeJournals } from "../journals/programs.ts";
import { journalSuite, type SuiteEntry, usual } from "./journal.suite.ts";

describe("the journal port on its fake", () => {
  journalSuite((entries) => {
    const journal = createFakeJournal(entries.map((entry) => ({ ...usual, ...entry })));
    return {
      journal,
      async write(messages) {
        await Promise.resolve();
        for (const message of messages) journal.write({ message });
      },
      dispose: () => undefined,
    };
  });
});

function fieldsOf(entry: Omit<SuiteEntry, "time">): readonly Field[] {
  const { message, unit, priority, identifier, uid } = { ...usual, ...entry };
  const ofUnit: readonly Field[] = unit === "kernel" ? [["_TRANSPORT", "kernel"]] : [["_SYSTEMD_UNIT", unit]];
  return [
    ["MESSAGE", message],
    ["SYSLOG_IDENTIFIER", identifier],
    ["_PID", String(usual.pid)],
    ["_UID", String(uid)],
    ["_HOSTNAME", usual.hostname],
    ...(unit === "" ? [] : ofUnit),
    ...(priority === null ? [] : [["PRIORITY", String(priority)] as const]),
  ];
}

describe.skipIf(!canMakeJournals())("the journal port on files", () => {
  journalSuite((entries) => {
    const directory = createLiveDirectory();
    const [first] = entries;
    if (first !== undefined) {
      const timed = entries.map(({ time, ...entry }) => ({
        realtime: time,
        monotonic: time - first.time + 1,
        bootId: usual.bootId,
        fields: fieldsOf(entry),
      }));
      directory.append("system.journal", timed);
    }
    const { journal, dispose } = createHostJournal({ dir: directory.path, onUnreadable: () => undefined });
    return {
      journal,
      async write(messages) {
        await Promise.resolve();
        directory.append("system.journal", entriesOfNow(messages.map((message) => fieldsOf({ message }))));
      },
      dispose() {
        dispose();
        directory.remove();
      },
    };
  });
});

import { expect, it } from "vitest";
import { createFakeClock } from "../../../../test/fakes/clock.ts";
import { createFakeJournal, createFakeJournalStorage, unreadFile } from "../../../../test/fakes/journal.ts";
import { oomKillsCheck } from "./oom-kills.ts";

const signal = new AbortController().signal;
const clock = createFakeClock(Date.parse("2026-01-02T12:00:00Z"));
const line = (process: string, pid: number, timestamp = "2026-01-02T11:00:00.000000Z") => ({
  timestamp,
  message: `Out of memory: Killed process ${pid} (${process}) total-vm:8000kB, anon-rss:4000kB, file-rss:0kB`,
});
function run(messages: readonly ReturnType<typeof line>[], ignore: readonly string[] = []) {
  const kernel = messages.map(({ timestamp, message }) => ({
    message,
    time: Date.parse(timestamp) * 1000,
    unit: "kernel",
  }));
  const other = { ...kernel[0], message: "somebody writes Killed process 2 (nobody)", unit: "app.service" };
  return oomKillsCheck({ journal: createFakeJournal([...kernel, other]), clock }).run({ ignore }, signal);
}

it("oom_kills counts each kill once and names the victims", async () => {
  const about = { timestamp: "2026-01-02T11:00:00.000000Z" };
  const outcome = await run([
    { ...about, message: "mysqld invoked oom-killer: gfp_mask=0x140dca, order=0, oom_score_adj=0" },
    { ...about, message: "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),task=mysqld,pid=7,uid=0" },
    line("mysqld", 7),
    { ...about, message: "Memory cgroup out of memory: Killed process 8 (tmux: server) total-vm:1kB" },
    line("old", 9, "2026-01-01T11:59:59.000000Z"),
  ]);
  expect(outcome).toMatchObject({
    status: "warn",
    message: "The OOM killer killed mysqld, tmux: server (2 kills in 24 h)",
    details: {
      count: 2,
      kills: [
        { process: "mysqld", pid: 7 },
        { process: "tmux: server", pid: 8 },
      ],
    },
  });
});

it("oom_kills passes without kills or with ignored ones, fails for many, and skips without a journal", async () => {
  expect(await run([])).toMatchObject({ status: "pass", details: { count: 0 } });
  expect(await run([line("stress-ng", 5)], ["stress*"])).toMatchObject({ status: "pass" });
  const journal = createFakeJournal([], createFakeJournalStorage(undefined));
  expect(await oomKillsCheck({ journal, clock }).run({ ignore: [] }, signal)).toMatchObject({ status: "skip" });
  expect(await run([1, 2, 3, 4, 5].map((pid) => line("java", pid)))).toMatchObject({ status: "fail" });
});

it("oom_kills names journal files that could not be read, and does not fail for them", async () => {
  const journal = createFakeJournal();
  journal.unread = [unreadFile];
  expect(await oomKillsCheck({ journal, clock }).run({ ignore: [] }, signal)).toMatchObject({
    status: "pass",
    message: "The OOM killer killed nothing in 24 h; not read: system.journal (it is damaged: at byte 8)",
    details: { count: 0, unread: [{ file: "system.journal", reason: "it is damaged: at byte 8" }] },
  });
  expect((await run([])).details).not.toHaveProperty("unread");
});

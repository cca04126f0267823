import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LogEntry, UnreadFiles } from "#contract/log-entry.ts";
import type { LogList } from "#contract/logs.ts";
import { SerializedJson } from "#contract/operation.ts";
import { utf8Length } from "#kernel/text.ts";
import { journalLines } from "./journal-lines.ts";
import { writePrompt } from "./prompt.ts";
import type { LogSearch } from "./sources.ts";

const caller = { keyId: "1", keyName: "test", credential: "key", scopes: [], expiresAt: null } as const;
const nowMs = Date.parse("2026-01-01T12:00:00Z");

const entryOf = (message: string, at: number, rest: Partial<LogEntry> = {}): LogEntry => ({
  timestamp: "2026-01-01T11:59:59.000000Z",
  unit: "app.service",
  priority: 3,
  message,
  cursor: `s=1;i=${(at + 1).toString(16)};b=1;m=1;t=1;x=1`,
  identifier: "app",
  pid: 1,
  hostname: "host",
  boot_id: "1",
  ...rest,
});

const shop = { units: ["app.service", "kernel"], identifiers: ["java"] };

async function linesOf(
  entries: readonly LogEntry[],
  granted: "all" | readonly string[] = "all",
  subjects = shop,
  unread?: UnreadFiles,
) {
  const searches: LogSearch[] = [];
  const found = await journalLines(
    {
      logs(search) {
        searches.push(search);
        const logs = entries.slice(-search.limit);
        const list: LogList = { logs, total: entries.length, next_cursor: null, ...(unread && { unread }) };
        return Promise.resolve(new SerializedJson(new TextEncoder().encode(JSON.stringify(list))));
      },
      logUnitsOf: () => granted,
      isWithin: (unit, pattern) => unit === pattern,
    },
    { subjects, sinceMs: nowMs - 1000, nowMs, caller },
    new AbortController().signal,
  );
  return { ...found, searches };
}

describe("journal lines of an explanation", () => {
  it("queries nothing without a granted unit", async () => {
    expect((await linesOf([entryOf("secret thing", 0)], [])).searches).toEqual([]);
    const { searches, lines, omitted } = await linesOf([], ["other.service"]);
    expect(searches.map(({ units, identifier }) => ({ units, identifier }))).toEqual(
      Array(4).fill({ units: ["other.service"], identifier: "java" }),
    );
    expect(lines).toEqual([]);
    expect(omitted).toEqual(["journal entries of app.service, kernel: outside the scope logs:read of this key"]);
  });

  it("are the warnings of all granted units where the check names none", async () => {
    const none = { units: [], identifiers: [] };
    for (const [granted, units] of [["all", undefined] as const, [["app.service"], ["app.service"]] as const]) {
      const { searches, lines } = await linesOf([entryOf("it broke", 0)], granted, none);
      expect(searches.map(({ units: searched, priority }) => [searched, priority])).toEqual(Array(2).fill([units, 4]));
      expect(lines.length).toBe(1);
    }
  });

  it("name the files that could not be read, each once", async () => {
    const { lines, omitted } = await linesOf([entryOf("it broke", 0)], "all", shop, [
      { file: "system.journal", reason: "it cannot be opened (EIO)" },
    ]);
    expect(lines.length).toBe(1);
    expect(omitted).toEqual([
      "journal entries in files that cannot be read: system.journal (it cannot be opened (EIO))",
    ]);
  });

  it("gives each entry one escaped line of bounded length, in order", async () => {
    const hostile = fc.oneof(
      fc.string({ unit: "binary", maxLength: 600 }),
      fc
        .array(fc.constantFrom("\n", "data ends ", "L1 ", "## Journal", "\u001b[2J", "\u202e", "a".repeat(400), "\0"), {
          maxLength: 12,
        })
        .map((parts) => parts.join("")),
    );
    const property = fc.asyncProperty(
      fc.array(fc.record({ message: hostile, identifier: hostile, unit: hostile }), { maxLength: 120 }),
      async (given) => {
        const entries = given.map(({ message, ...rest }, at) => entryOf(message, at, rest));
        const { lines, redactions, omitted } = await linesOf(entries);
        expect(lines.length).toBeLessThanOrEqual(100);
        expect(lines.reduce((sum, { text }) => sum + utf8Length(text) + 6, 0)).toBeLessThanOrEqual(24 * 1024);
        const sent = new Set(lines.map(({ cursor }) => cursor));
        expect(entries.map(({ cursor }) => cursor).filter((cursor) => sent.has(cursor))).toEqual([...sent]);
        const { messages } = writePrompt(
          {
            check: [],
            history: [],
            units: [],
            around: [],
            journal: lines,
            redactions,
            omitted,
            runbooks: { ids: [], text: "" },
          },
          undefined,
        );
        const content = messages[1]?.content ?? "";
        expect(content.match(/^L\d+ /gm)?.length ?? 0).toBe(lines.length);
        expect(content.match(/^data /gm)?.length).toBe(2);
        expect(content.replaceAll("\n", "")).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
        for (const line of content.match(/^L\d+ .*$/gm) ?? []) expect(utf8Length(line)).toBeLessThanOrEqual(500);
      },
    );
    await fc.assert(property, { numRuns: 150 });
  });

  it("redacts a secret before it cuts a line", async () => {
    const before = "x ".repeat(200);
    const { lines, redactions } = await linesOf([
      entryOf(`${before} password=abcdefghijklmnopqrstuvwxyz0123456789${"9".repeat(300)} end`, 0),
      entryOf(`${"y".repeat(4080)} token=abcdefghijklmnopqrstuvwxyz`, 1),
    ]);
    expect(lines[0]?.text).toMatch(/ password=\[redacted\] end$/);
    expect(lines[1]?.text).not.toContain("token=a");
    expect(redactions).toBe(1);
  });
});

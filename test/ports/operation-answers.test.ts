import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openAnswerFiles } from "#adapters/operations/answers.ts";
import { createIdempotency } from "#transports/http/idempotency.ts";
import { createFakeClock } from "../fakes/clock.ts";

let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "steward-answers-"));
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));
const open = () => openAnswerFiles({ stateDir });
const folder = (...parts: readonly string[]): string => join(stateDir, "answers", ...parts);
const kept = (letter: string, at = 1) => ({
  id: letter.repeat(43),
  fingerprint: "f",
  at,
  answer: { status: 201, headers: { location: "/x" }, body: '{"ä":"\\u0000"}' },
});

describe("answers on disk", () => {
  it("are there again, private, until they are removed", () => {
    const files = open();
    files.save(kept("a"));
    files.save(kept("a", 2));
    files.save(kept("b"));
    expect(statSync(folder()).mode & 0o777).toBe(0o700);
    expect(readdirSync(folder()).map((name) => statSync(folder(name)).mode & 0o777)).toEqual([0o600, 0o600]);
    const byId = () => [...open().load()].sort((a, b) => (a.id < b.id ? -1 : 1));
    expect(byId()).toEqual([kept("a", 2), kept("b")]);
    files.remove(kept("a").id);
    files.remove(kept("c").id);
    expect(byId()).toEqual([kept("b")]);
  });

  it("take no name that leads elsewhere", () => {
    const files = open();
    for (const id of ["", "../a", "a".repeat(42), `${"a".repeat(42)}/`]) {
      expect(() => files.save({ ...kept("a"), id })).toThrow(/cannot name/);
      expect(() => files.remove(id)).toThrow(/cannot name/);
    }
  });

  it("are left out and cleared away when they are damaged, and nothing outside is touched", () => {
    const files = open();
    files.save(kept("a"));
    const victim = join(stateDir, "victim");
    writeFileSync(victim, "mine");
    symlinkSync(victim, folder(`${"l".repeat(43)}.json`));
    writeFileSync(folder(`${"d".repeat(43)}.json`), JSON.stringify(kept("a")));
    for (const [letter, text] of Object.entries({ e: "", f: "{", g: "[]", h: '{"id":1}', i: '{"answer":{}}' }))
      writeFileSync(folder(`${letter.repeat(43)}.json`), text);
    writeFileSync(folder(`${"a".repeat(43)}.json.new`), "half");
    mkdirSync(folder("folder"));
    expect(() => open().load()).not.toThrow();
    expect(open().load()).toEqual([kept("a")]);
    expect(readdirSync(folder())).toEqual([`${"a".repeat(43)}.json`]);
    expect(readFileSync(victim, "utf8")).toBe("mine");
  });

  it("outlive the service, for a day", async () => {
    const clock = createFakeClock();
    const start = () =>
      createIdempotency({ clock, files: open(), onTrouble: (error) => expect(error).toBeUndefined() });
    const signal = new AbortController().signal;
    const request = { id: "a".repeat(43), request: ["POST", "/a", ""] };
    const turn = await start().take(request, signal);
    if (turn.kind === "first") turn.end(kept("a").answer);
    expect(await start().take(request, signal)).toEqual({ kind: "replay", answer: kept("a").answer });
    await clock.advance(24 * 60 * 60 * 1000);
    expect((await start().take(request, signal)).kind).toBe("first");
    expect(readdirSync(folder())).toEqual([]);
  });
});

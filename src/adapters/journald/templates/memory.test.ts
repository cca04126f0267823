import { mkdtempDisposableSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Fault } from "../registry.ts";
import { bounded, createMemoryReader, type Remembered, writeMemory } from "./memory.ts";

const template = (text: string, rest: Partial<Remembered> = {}): Remembered => ({
  unit: "a.service",
  identifier: "a",
  origin: "",
  text,
  first: 1,
  last: 2,
  firstError: null,
  ...rest,
});

const open = () => {
  const directory = mkdtempDisposableSync(join(tmpdir(), "steward-memory-"));
  const path = join(directory.path, "log-templates.json");
  const faults: Fault[] = [];
  const read = createMemoryReader(path, (fault) => void faults.push(fault));
  return { [Symbol.dispose]: () => directory.remove(), path, faults, read };
};

describe("remembered templates", () => {
  it("are read as they were written, and again when they have changed", () => {
    using memory = open();
    expect(memory.read()).toEqual({ templates: [], files: {}, knownSince: null });
    const first = { templates: [template("port <*> is open", { firstError: 7 })], files: { aa: 3 }, knownSince: 5 };
    writeMemory(memory.path, first);
    const given = memory.read();
    expect([given, memory.read() === given, memory.faults]).toEqual([first, true, []]);
    const second = { templates: [template("\u{1f600} \ud800 <*>")], files: {}, knownSince: null };
    writeMemory(memory.path, second);
    expect(memory.read()).toEqual(second);
  });

  it.each([
    ["damaged", (text: string) => text.slice(0, -9)],
    ["of other rows", (text: string) => text.replace(",1,2,", ",1,")],
    ["of no rows", () => '{"version":1}'],
    ["a list", () => "[]"],
  ])("are none where the table is %s, which is reported once", (_, change) => {
    using memory = open();
    writeMemory(memory.path, { templates: [template("x")], files: { aa: 3 }, knownSince: 5 });
    writeFileSync(memory.path, change(readFileSync(memory.path, "utf8")));
    expect([memory.read(), memory.read()]).toEqual(Array(2).fill({ templates: [], files: {}, knownSince: null }));
    expect(memory.faults).toEqual([{ path: memory.path, what: expect.stringContaining("cannot be used") }]);
  });

  it("are none where the table is of another version", () => {
    using memory = open();
    writeFileSync(memory.path, '{"version":0,"templates":"of another kind"}');
    expect([memory.read(), memory.faults]).toEqual([{ templates: [], files: {}, knownSince: null }, []]);
  });

  it("are errors first and then the newest, where they are more than there is space for", () => {
    const many = Array.from({ length: 20_000 }, (_, at) => template(`said ${at}`, { last: at }));
    const errors = [template("old error", { last: 0, firstError: 0 })];
    const kept = bounded([...many, ...errors]);
    expect([kept.length, kept[0]?.text, kept[1]?.text]).toEqual([8192, "old error", "said 19999"]);
    const long = bounded(many.map((each) => ({ ...each, text: each.text.padEnd(1000, "x") })));
    expect(long.length).toBeGreaterThan(900);
    expect(long.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThanOrEqual(1024 * 1024);
  });
});

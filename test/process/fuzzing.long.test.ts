import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../fuzz/child.ts";
import { countersGlobal, instrument } from "../fuzz/instrument.ts";
import { replay, supervise, type Task } from "../fuzz/supervise.ts";
import { targets } from "../fuzz/targets/index.ts";

const folder = join(root, "test/fuzz");
const names = targets.map(({ name }) => name);
const corpusBytes = 1024 * 1024;

describe("what is fuzzed", () => {
  it("is what is in the folder of targets, and only that has a corpus", () => {
    const modules = readdirSync(join(folder, "targets")).filter((name) => name !== "index.ts");
    expect(modules.toSorted()).toEqual(names.map((name) => `${name}.ts`).toSorted());
    expect(readdirSync(join(folder, "corpus")).toSorted()).toEqual(names.toSorted());
  });

  it("has a corpus that is no burden to a checkout", () => {
    const sizes = names.flatMap((name) =>
      readdirSync(join(folder, "corpus", name)).map((file) => statSync(join(folder, "corpus", name, file)).size),
    );
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(corpusBytes);
  });

  it("takes the whole corpus, with all that was ever found", () => {
    const { status, stdout } = spawnSync(process.execPath, [join(folder, "main.ts"), "--runs", "0", "--fresh"], {
      encoding: "utf8",
    });
    expect(stdout).toMatch(/\nnothing found\n$/);
    for (const name of names) expect(stdout).toMatch(new RegExp(`^${name} +\\d+ executions`, "m"));
    expect(status).toBe(0);
  });
});

describe("the fuzzer", () => {
  let work: string;
  beforeAll(() => {
    work = mkdtempSync(join(tmpdir(), "steward-fuzzing-"));
  });
  afterAll(() => rmSync(work, { recursive: true, force: true }));

  const toy = (name: string): Task => ({
    module: join(folder, "toys", `${name}.ts`),
    instrumented: ["test/fuzz/toys/"],
    hangMs: 5_000,
    seed: 1,
    seconds: 100,
    runs: 30_000,
    inputs: [],
    withSeeds: true,
    workFolder: undefined,
    keepFolder: undefined,
  });
  const quiet = (): void => undefined;

  it("finds what only coverage leads to, and makes the input as small as it can be", async () => {
    const { findings } = await supervise({ ...toy("guided"), runs: 200_000 }, quiet);
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatchObject({ message: expect.stringContaining("it was found"), isReproducible: true });
    expect(findings[0]?.input.toString("latin1")).toBe("FUZ");
  });

  it("does the same for the same seed", async () => {
    const once = async (seed: number) => {
      const { progress } = await supervise({ ...toy("guided"), seed, runs: 3_000 }, quiet);
      return { ...progress, seconds: 0 };
    };
    expect(await once(3)).toEqual(await once(3));
    expect(await once(3)).not.toEqual(await once(4));
  });

  it("goes on from what an earlier run has collected", async () => {
    await supervise({ ...toy("guided"), runs: 20_000, workFolder: work }, quiet);
    const { findings } = await supervise({ ...toy("guided"), runs: 0, inputs: [work], withSeeds: false }, quiet);
    expect(readdirSync(work).length).toBeGreaterThan(2);
    expect(findings).toEqual([]);
  });

  it.each([
    ["throws", /as it was told/],
    ["exits", /ended its process: exit 0/],
    ["rejects", /nobody waits for it/],
    ["works", /it took \d+ steps, and may take 1000/],
    ["swells", /it took \d+ KiB of memory/],
    ["loops", /did not end within 5 s/],
  ])("sees that a target %s", async (word, message) => {
    // On a busy machine even what ends at once takes its time.
    const hangMs = word === "loops" ? 5_000 : 120_000;
    expect((await replay({ ...toy("faults"), hangMs }, Buffer.from(word)))?.message).toMatch(message);
  });

  it("finds nothing wrong with an input that is taken", async () => {
    expect(await replay(toy("faults"), Buffer.from("fine"))).toBeUndefined();
  });

  it("names the input that ended the process among others", async () => {
    const inputs = ["fine", "exits", "well"].map((word) => {
      const file = join(work, word);
      writeFileSync(file, word);
      return file;
    });
    const { findings } = await supervise({ ...toy("faults"), runs: 0, inputs }, quiet);
    expect(findings.map(({ input }) => input.toString())).toEqual(["exits"]);
  });
});

describe("instrumented code", () => {
  const source = [
    "function f(a, b = () => ({ x: 1 })) {",
    "  if (a) if (b) return 1; else return 2;",
    "  for (const x of [1, 2]) a += x;",
    "  switch (a) { case 1: case 3: return 'three'; default: break; }",
    "  do a -= 1; while (a > 10);",
    "  try { null.x } catch { a ||= 5 }",
    "  return a ? (b, b()) : a ?? 7;",
    "}",
    "const g = (q) => q ? { a: q } : q && f(q) || null;",
  ].join("\n");
  const calls = "JSON.stringify([f(0), f(1), f(1, 0), f(-20), f(9), g(0), g(1)])";

  it("does what it did, and counts each edge", () => {
    const { code, counters, literals } = instrument("x.js", source, 0);
    const counts = new Uint32Array(counters);
    const run = (text: string): unknown => runInNewContext(`${text}\n${calls};`, { [countersGlobal]: counts });
    expect(run(code)).toBe(run(source));
    expect(code.split("\n")).toHaveLength(source.split("\n").length);
    expect([...counts].filter((count) => count > 0).length).toBeGreaterThan(counters / 2);
    expect(literals).toContain("three");
  });
});

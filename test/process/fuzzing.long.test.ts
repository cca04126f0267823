import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../fuzz/child.ts";
import { replay, supervise, type Task } from "../fuzz/supervise.ts";
import { targets } from "../fuzz/targets/index.ts";

const directory = join(root, "test/fuzz");
const names = targets.map(({ name }) => name);
const corpusBytes = 1024 * 1024;

describe("the fuzz targets", () => {
  it("are those of their directory, and only they have a corpus", () => {
    const modules = readdirSync(join(directory, "targets")).filter((name) => name !== "index.ts");
    expect(modules.toSorted()).toEqual(names.map((name) => `${name}.ts`).toSorted());
    expect(readdirSync(join(directory, "corpus")).toSorted()).toEqual(names.toSorted());
  });

  it("have a corpus that is not a burden to a checkout", () => {
    const sizes = names.flatMap((name) =>
      readdirSync(join(directory, "corpus", name)).map((file) => statSync(join(directory, "corpus", name, file)).size),
    );
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(corpusBytes);
  });

  it("takes the whole corpus, with all that was ever found", () => {
    const { status, stdout } = spawnSync(process.execPath, [join(directory, "main.ts"), "--runs", "0", "--fresh"], {
      encoding: "utf8",
    });
    expect(stdout).toMatch(/\nnothing found\n$/);
    for (const name of names) expect(stdout).toMatch(new RegExp(`^${name} +\\d+ executions`, "m"));
    expect(status).toBe(0);
  });
});

describe("the fuzzer", () => {
  const toy = (name: string): Task => ({
    module: join(directory, "toys", `${name}.ts`),
    instrumented: ["test/fuzz/toys/"],
    hangMs: 5_000,
    seed: 1,
    seconds: 100,
    runs: 30_000,
    inputs: [],
    withSeeds: true,
    workDirectory: undefined,
    keepDirectory: undefined,
  });
  const quiet = (): void => undefined;

  it("finds what only coverage leads to, and makes the input as small as it can be", async () => {
    const { findings } = await supervise({ ...toy("guided"), runs: 200_000 }, quiet);
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatchObject({ message: expect.stringContaining("it was found"), isReproducible: true });
    expect(findings[0]?.input.toString("latin1")).toBe("FUZ");
  });

  it.each([
    ["throws", /as requested/],
    ["exits", /ended its process: exit 0/],
    ["rejects", /nobody waits for it/],
    ["works", /it took \d+ steps, and may take 1000/],
    ["swells", /it took \d+ KiB of memory/],
    ["loops", /did not end within 5 s/],
  ])("sees that a target %s", async (word, message) => {
    // On a busy machine even what ends at once takes its time.
    const hangMs = word === "loops" ? 5_000 : 120_000;
    expect((await replay({ ...toy("faults"), hangMs }, Buffer.from(word)))?.message).toMatch(message);
    expect(await replay(toy("faults"), Buffer.from("fine"))).toBeUndefined();
  });
});

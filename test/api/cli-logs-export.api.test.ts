import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { type ExportQuery, JournalUnavailable } from "#domain/ports/journal.ts";
import { startTestService, type TestService } from "./harness.ts";
import { useSteward } from "./steward.ts";

let service: TestService;
let directory: string;
const { steward: run } = useSteward(async () => {
  service = await startTestService();
  directory = mkdtempSync(join(tmpdir(), "steward-export-"));
  for (const message of ["one", "two", "three"]) service.journal.write({ message, unit: `${message}.service` });
  // All of them long ago.
  await service.clock.advance(24 * 3_600_000);
  return service;
});
afterEach(() => rmSync(directory, { recursive: true }));

const steward = (...argv: readonly string[]) => run(["logs", ...argv]);
const messagesIn = (file: string): readonly string[] =>
  [...readFileSync(file, "utf8").matchAll(/(?:^MESSAGE=|"MESSAGE":")(\w+)/gm)].map(([, message = ""]) => message);

describe("steward logs --export", () => {
  it("writes all matching entries into a new private file, and prints the cursor to continue", async () => {
    const file = join(directory, "all");
    const run = await steward("--export", file);
    expect([run.code, run.out]).toEqual([0, ""]);
    expect(messagesIn(file)).toEqual(["one", "two", "three"]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const [, cursor = ""] = /^-- cursor: (\S+) --$/m.exec(run.err) ?? [];
    expect(run.err).toContain(`-- 3 entries, ${statSync(file).size} bytes in ${file} --\n`);
    service.journal.write({ message: "four", time: service.clock.now() * 1000 - 1 });
    const more = join(directory, "more");
    expect((await steward("--export", more, "--after-cursor", cursor)).code).toBe(0);
    expect(messagesIn(more)).toEqual(["four"]);
  });

  it("takes filters, and JSON", async () => {
    const file = join(directory, "some");
    expect((await steward("--export", file, "-o", "json", "-g", "t")).code).toBe(0);
    expect(messagesIn(file)).toEqual(["two", "three"]);
    expect(JSON.parse(readFileSync(file, "utf8").split("\n")[0] ?? "")).toMatchObject({ MESSAGE: "two" });
  });

  it("does not overwrite a file, and refuses options that do not go with it", async () => {
    const file = join(directory, "mine");
    writeFileSync(file, "mine");
    expect(await steward("--export", file)).toMatchObject({ code: 2, err: expect.stringContaining("EEXIST") });
    expect(readFileSync(file, "utf8")).toBe("mine");
    const other = join(directory, "other");
    for (const argv of [["-o", "cat"], ["-f"], ["-r"], ["-n", "5"], ["--histogram"]])
      expect([argv, (await steward("--export", other, ...argv)).code]).toEqual([argv, 2]);
    expect(() => statSync(other)).toThrow("ENOENT");
  });

  it("continues where it was cut, with every entry once", async () => {
    const { export: whole } = service.journal;
    let cuts = 0;
    const nextPart = async (query: ExportQuery, signal: AbortSignal) => {
      if (query.position !== undefined && cuts < 2) {
        cuts += 1;
        throw new JournalUnavailable("a file was removed");
      }
      return whole(query, signal);
    };
    Object.assign(service.journal, { export: nextPart });
    const file = join(directory, "cut");
    const run = await steward("--export", file);
    expect([run.code, messagesIn(file), cuts]).toEqual([0, ["one", "two", "three"], 2]);
    expect(run.err).toMatch(/^steward: the export was cut: .*; going on\n/);
  });
});

describe("steward api export-logs", () => {
  it("prints the export", async () => {
    const { code, out } = await run("api export-logs --since 1970-01-01T00:00:00Z --format text");
    expect([code, out.split("\n").length]).toEqual([0, 5]);
  });
});

import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseStatusLine, readableLine } from "../apt/output.ts";
import { following } from "./follow.ts";

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "steward-apt-test-"));
});

afterEach(() => rmSync(directory, { recursive: true }));

describe("lines of a program", () => {
  it.each([
    [
      "pmstatus:libb:33.3333:Unpacking libb (amd64)",
      { kind: "install", percent: 33.3333, what: "Unpacking libb (amd64)" },
    ],
    ["pmstatus:libc6:amd64:10.5:Preparing", { kind: "install", percent: 10.5, what: "Preparing" }],
    ["dlstatus:1:20.0000:Retrieving file 1 of 2", { kind: "download", percent: 20, what: "Retrieving file 1 of 2" }],
    ["pmstatus:a:900:x", undefined],
    ["Setting up a (1) ...", undefined],
  ])("are parsed for progress: %j", (line, status) => {
    expect(parseStatusLine(line)).toEqual(status);
  });

  it.each([
    ["Setting up a (1) ...\r", "Setting up a (1) ..."],
    ["(Reading database ... 5%\r(Reading database ... 100%", undefined],
    ["pmstatus:libb:33.3:Unpacking", undefined],
    ["pmerror:cc:60.0:exit status 3", undefined],
    ["", undefined],
  ])("are shown to people or not: %j", (line, text) => {
    expect(readableLine(line)).toBe(text);
  });

  it("are complete, however they are written", async () => {
    const line = fc.stringMatching(/^[a-zé ]{0,10}$/);
    await fc.assert(
      fc.asyncProperty(fc.array(line, { minLength: 1 }), fc.integer({ min: 1, max: 7 }), async (lines, size) => {
        const path = join(directory, "output");
        writeFileSync(path, "");
        const bytes = Buffer.from(`${lines.join("\n")}\n`);
        const reported: string[] = [];
        const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
        await following(
          path,
          (each) => reported.push(each),
          { sleep: turn },
          async () => {
            for (let at = 0; at < bytes.length; at += size) {
              appendFileSync(path, bytes.subarray(at, at + size));
              await turn();
            }
          },
        );
        expect(reported).toEqual(lines);
      }),
      { numRuns: 20 },
    );
  });

  it("are followed to the end of work that fails, whose error is reported", async () => {
    const path = join(directory, "output");
    writeFileSync(path, "one\ntwo");
    const reported: string[] = [];
    const clock = { sleep: () => Promise.resolve() };
    const work = following(
      path,
      (each) => reported.push(each),
      clock,
      () => Promise.reject(new Error("it failed")),
    );
    await expect(work).rejects.toThrow("it failed");
    expect(reported).toEqual(["one", "two"]);
  });
});

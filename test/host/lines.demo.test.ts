import { afterAll, describe, expect, it } from "vitest";
import { plainEnvironment, runCommand } from "./commands.ts";
import {
  hasLink,
  killDemos,
  linesOf,
  numberOf,
  runDemo,
  startMs,
  traces,
  whatIsMissing,
} from "./support/demo-process.ts";

const demoMs = 900_000;
const missing = whatIsMissing();
if (missing.length > 0) process.stdout.write(`skipped: the demo: ${missing.join("; ")}\n`);

describe.skipIf(missing.length > 0)("the demo", () => {
  afterAll(killDemos);

  it(
    "runs the lines that it prints as it says, and leaves nothing behind",
    async () => {
      const demo = runDemo("--for", "60");
      await demo.waitFor("It ends in 60 minutes");
      const lines = linesOf(demo.printed());
      expect(lines.length).toBeGreaterThan(15);
      for (const { line, exitCode } of lines) {
        const done = await runCommand(["bash", "-c", line], {
          allowFailure: true,
          env: plainEnvironment,
          timeoutMs: startMs,
        });
        const said = `${line}\n${done.stdout.slice(-2000)}\n${done.stderr.slice(-2000)}`;
        expect({ said, exitCode: done.exitCode }).toEqual({ said, exitCode });
        // What curl was answered.
        if (line.startsWith("curl")) expect(done.stdout, said).not.toContain('"error":{');
      }
      const number = numberOf(demo.pid);
      expect(hasLink(number)).toBe(true);
      expect((await traces(demo.pid)).length).toBeGreaterThan(3);
      demo.child.kill("SIGINT");
      expect(await demo.ended, demo.printed()).toBe(0);
      expect(demo.printed()).toContain("shutting down and removing everything");
      expect(await traces(demo.pid)).toEqual([]);
      expect(hasLink(number)).toBe(false);
    },
    demoMs,
  );
});

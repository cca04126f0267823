import { afterAll, describe, expect, it } from "vitest";
import { runCommand } from "./commands.ts";
import { childrenOf } from "./processes.ts";
import {
  hasLink,
  killDemos,
  main,
  numberOf,
  runDemo,
  runDemoWithNpm,
  traces,
  whatIsMissing,
} from "./support/demo-process.ts";
import { eventually } from "./support/eventually.ts";

/** The first start of changed sources builds the package. */
const demoMs = 400_000;
const missing = whatIsMissing();
if (missing.length > 0) process.stdout.write(`skipped: the demo: ${missing.join("; ")}\n`);

describe.skipIf(missing.length > 0)("npm run demo", () => {
  afterAll(killDemos);

  it(
    "is removed by the next start when it was killed",
    async () => {
      const demo = runDemo();
      await demo.waitFor("booted it in");
      const number = numberOf(demo.pid);
      demo.child.kill("SIGKILL");
      await demo.ended;
      // The guest is asked to shut down when the process that started it is gone.
      await eventually(() => expect(hasLink(number)).toBe(false), 30_000);
      const clean = runDemo("--clean");
      expect(await clean.ended).toBe(0);
      expect(clean.printed()).toContain("left behind by");
      expect(await traces(demo.pid)).toEqual([]);
    },
    demoMs,
  );

  it.each(["SIGTERM", "SIGKILL"] as const)(
    "removes everything when npm gets %s alone",
    async (signal) => {
      const demo = runDemoWithNpm();
      await demo.waitFor("booted it in");
      const [pid] = childrenOf(demo.pid);
      if (pid === undefined) throw new Error("cannot find the demo among the processes of npm");
      expect(await traces(pid)).not.toEqual([]);
      demo.child.kill(signal);
      // The output closes when the last process that holds it has ended.
      await demo.ended;
      // The kernel gives loop devices back when the last command inside the guest has been ended with it.
      await eventually(async () => expect(await traces(pid)).toEqual([]), 30_000);
    },
    demoMs,
  );

  it(
    "removes everything when it is ended before it runs",
    async () => {
      const demo = runDemo();
      await demo.waitFor("booted it in");
      demo.child.kill("SIGTERM");
      expect(await demo.ended, demo.printed()).toBe(130);
      await eventually(async () => expect(await traces(demo.pid)).toEqual([]), 30_000);
    },
    demoMs,
  );
});

it("says in one line what is missing where it cannot run, and what is wrong with its arguments", async () => {
  const nobody = await runCommand(["setpriv", "--reuid=65534", "--clear-groups", process.execPath, main], {
    allowFailure: true,
  });
  expect([nobody.exitCode, nobody.stderr]).toEqual([
    2,
    expect.stringMatching(/^cannot run the demo: missing: root \(.+\).*\n$/),
  ]);
  const odd = await runCommand([process.execPath, main, "--for", "ever"], { allowFailure: true });
  expect([odd.exitCode, odd.stderr]).toEqual([2, expect.stringMatching(/^cannot run for ever minutes: .+\n$/)]);
});

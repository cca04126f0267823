import { expect, it } from "vitest";
import type { Exec } from "#adapters/exec/index.ts";
import { createFakeClock } from "../../../../test/fakes/clock.ts";
import { dialect4 } from "./dialect4.ts";
import { openDnf } from "./host.ts";

const { signal } = new AbortController();
const answer = { exitCode: 0, stdout: "web.noarch 1.1-1 base\n", stderr: "", truncated: false };
const locked = {
  ...answer,
  exitCode: 200,
  stdout: "",
  stderr: `metadata already locked by 663
  The application with PID 663 is: dnf
    Memory :  58 M RSS (116 MB VSZ)
    Started: Wed Nov 25 20:59:20 2026 - 00:11 ago
    State  : Running
`,
};

/** A dnf that is locked so many times. */
function dnfThat(lockedTimes: number) {
  const clock = createFakeClock();
  let [asked, atWork, most] = [0, 0, 0];
  const exec: Exec = async () => {
    asked += 1;
    atWork += 1;
    most = Math.max(most, atWork);
    await Promise.resolve();
    atWork -= 1;
    return asked <= lockedTimes ? locked : answer;
  };
  const waits = { ...clock, sleep: (ms: number) => clock.advance(ms) };
  return { dnf: openDnf({ exec, clock: waits }, dialect4), asked: () => asked, most: () => most };
}

it("asks dnf again while another one has the lock of the lists, and not for ever", async () => {
  const busy = dnfThat(3);
  expect(await busy.dnf.ask(["check-update"], signal)).toBe(answer.stdout);
  expect(busy.asked()).toBe(4);
  const stuck = dnfThat(Number.POSITIVE_INFINITY);
  await expect(stuck.dnf.ask(["check-update"], signal)).rejects.toThrow("dnf refuses to answer");
  expect(stuck.asked()).toBe(121);
});

it("asks dnf one question at a time", async () => {
  const { dnf, asked, most } = dnfThat(0);
  await Promise.all(["a", "b", "c"].map((word) => dnf.ask([word], signal)));
  expect([asked(), most()]).toEqual([3, 1]);
});

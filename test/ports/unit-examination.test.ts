import { describe, expect, it } from "vitest";
import { createUnitExamination } from "#adapters/systemd/examination.ts";
import type { UnitExamination } from "#domain/ports/unit-examination.ts";
import { createFakeUnitExamination } from "../fakes/unit-examination.ts";

const { signal } = new AbortController();
const judged = "→ Overall exposure level for a.service: 9.6 UNSAFE 😨\n";
/** Programs that print this. */
const printing = (stdout: string, exitCode = 0): UnitExamination =>
  createUnitExamination({ exec: () => Promise.resolve({ exitCode, stdout, stderr: "", truncated: false }) });
const group = "/system.slice/a.service";

describe.each([
  [
    "fake",
    createFakeUnitExamination({ exposure: { score: 9.6, level: "UNSAFE" }, listening: [] }),
    createFakeUnitExamination(),
  ],
  ["programs", printing(judged), printing("", 1)],
])("examination of units: %s", (_, able, unable) => {
  it("tells systemd's judgement, and says why it cannot", async () => {
    expect(await able.exposure("a.service", signal)).toEqual({ score: 9.6, level: "UNSAFE" });
    await expect(unable.exposure("a.service", signal)).rejects.toThrow(/cannot/);
  });

  it("tells sockets, and says why it cannot", async () => {
    expect(await able.listening(group, signal)).toEqual([]);
    await expect(unable.listening(group, signal)).rejects.toThrow(/cannot/);
  });
});

describe("examination of units by programs", () => {
  it("tells the sockets of the control group and of those below it, by their ports", async () => {
    const table = [
      `tcp LISTEN 0 511 127.0.0.1:81 0.0.0.0:* cgroup:${group}/worker`,
      `tcp LISTEN 0 511 0.0.0.0:80 0.0.0.0:* cgroup:${group}`,
      `tcp LISTEN 0 511 0.0.0.0:82 0.0.0.0:* cgroup:${group}x`,
      "tcp LISTEN 0 511 0.0.0.0:83 0.0.0.0:* cgroup:unreachable:1",
    ].join("\n");
    expect(await printing(table).listening(group, signal)).toEqual([
      { protocol: "tcp", address: "0.0.0.0", port: 80 },
      { protocol: "tcp", address: "127.0.0.1", port: 81 },
    ]);
    expect(await printing(table).listening("", signal)).toEqual([]);
  });

  it("says so where the kernel does not tell control groups", async () => {
    await expect(printing("tcp LISTEN 0 1 0.0.0.0:80 0.0.0.0:* cgroup:").listening(group, signal)).rejects.toThrow(
      /control groups/,
    );
  });
});

import { expect, it } from "vitest";
import { createFakeClock } from "../../test/fakes/clock.ts";
import { createRootRecord } from "./record.ts";

function recorded(record: Parameters<ReturnType<typeof createRootRecord>>[0]) {
  const lines: string[] = [];
  createRootRecord({ write: (line) => void lines.push(line), clock: createFakeClock() })(record);
  const [line = "", ...more] = lines;
  expect([line.endsWith("}\n"), line.indexOf("\n"), more]).toEqual([true, line.length - 1, []]);
  return { line, members: JSON.parse(line) as Record<string, unknown> };
}

it("the record of a request has its input, without standard input", () => {
  const { members } = recorded({
    id: "ask-1",
    request: "plugin.run",
    phase: "begun",
    input: { path: "/etc/steward/plugins/a", args: ["--all", "x\ny"], stdin: "secret" },
  });
  expect(members).toEqual({
    level: "info",
    time: "2026-01-01T00:00:00.000Z",
    id: "ask-1",
    request: "plugin.run",
    phase: "begun",
    input: { path: "/etc/steward/plugins/a", args: ["--all", "x\ny"], stdin: "6 characters" },
    input_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    msg: "root request",
  });
});

it("the record of a request is bounded and redacted", () => {
  const token = `ghp_${"a1".repeat(18)}`;
  const many = { args: Array.from({ length: 256 }, () => "x".repeat(4096)), [`${"n".repeat(5000)}`]: 1, token };
  const { line } = recorded({
    id: "ask-1",
    request: "r".repeat(9000),
    phase: "refused",
    input: many,
    error: "e".repeat(9000),
  });
  expect(line.length).toBeLessThan(6000);
  expect(
    recorded({ id: "ask-1", request: "", phase: "failed", input: { args: [token] }, error: token }).line,
  ).not.toContain(token);
});

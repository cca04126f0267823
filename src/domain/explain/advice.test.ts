import { describe, expect, it } from "vitest";
import { isWithin } from "#domain/logs/unit-pattern.ts";
import type { Runbook } from "#domain/ports/runbooks.ts";
import { utf8Length } from "#kernel/text.ts";
import { adviceOn } from "./advice.ts";

const runbook = (id: string, body: string): Runbook => ({
  ...{ id, origin: "local", title: `The ${id}` },
  appliesTo: [{ check: "a" }],
  body,
});

describe("advice for a model", () => {
  const subjects = { checks: ["a"] };
  const advice = (...bodies: readonly string[]) =>
    adviceOn({ runbooks: bodies.map((body, at) => runbook(`r${at}`, body)), faults: [] }, subjects, isWithin);

  it("has the runbooks in their order, each with its title and id", () => {
    expect(advice("First.", "Second.")).toEqual({
      ids: ["r0", "r1"],
      text: "# The r0 (r0)\nFirst.\n\n# The r1 (r1)\nSecond.",
      redactions: 0,
      omitted: [],
    });
  });

  it("is bounded, and says what it leaves out", () => {
    const { text, ids, omitted } = advice("x ".repeat(1500), "y ".repeat(1500), "z ".repeat(1500), "short");
    expect(utf8Length(text)).toBeLessThanOrEqual(4 * 1024);
    expect(text).toMatch(/# The r1 \(r1\)\n(?:y )+.*bytes cut off\]$/);
    expect(ids).toEqual(["r0", "r1"]);
    expect(omitted).toEqual([
      "runbook r1: the rest (size limit)",
      "runbook r2 (size limit)",
      "runbook r3 (size limit)",
    ]);
  });

  it("has no secrets and no control characters, and names files that are not used", () => {
    const runbooks = [runbook("r", "password=hunter2secret\nred\u202e\u0007")];
    const faults = [{ file: "/etc/steward/runbooks/b.md", reason: "it is not UTF-8" }];
    expect(adviceOn({ runbooks, faults }, subjects, isWithin)).toEqual({
      ids: ["r"],
      text: "# The r (r)\npassword=[redacted]\nred\\u{202e}\\u{0007}",
      redactions: 1,
      omitted: ["runbook /etc/steward/runbooks/b.md: it is not UTF-8"],
    });
  });
});

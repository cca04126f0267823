import { expect, it } from "vitest";
import { kernelRules } from "#domain/health/kernel-rules.ts";
import { describeCases, uncovered } from "./cases.ts";

/** The rules that a line fits, without those that count only when it comes several times. */
const rulesOf: Readonly<Record<string, readonly string[]>> = {
  "benign-ignored-messages-v1.txt": [],
  "benign-ignored-messages-v2.txt": [],
  "error-rcu-stall.txt": ["soft_lockup"],
  // Whoever mounted it is told; no hardware fails.
  "error-tmpfs-mount-option.txt": [],
  "insights-msginfo.txt": [],
};

describeCases("kernel-log", ({ text, files }) => {
  it("every file is read below", () => {
    expect(uncovered(files(), { read: Object.keys(rulesOf), unread: {} })).toEqual([]);
  });

  it.each(Object.entries(rulesOf))("%s: lines that mean trouble", (file, expected) => {
    const messages = text(file)
      .split("\n")
      .map((line) => line.replace(/^\[[^\]]*\] /, ""));
    const found = messages.flatMap((message) =>
      kernelRules.filter(({ pattern }) => pattern.test(message)).map(({ id }) => id),
    );
    expect(found).toEqual(expected);
  });
});

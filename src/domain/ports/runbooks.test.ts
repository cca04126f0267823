import { describe, expect, it } from "vitest";
import type { RunbookSubject } from "#contract/runbooks.ts";
import { isWithin } from "#domain/logs/unit-pattern.ts";
import { type Runbook, runbooksFor } from "#domain/ports/runbooks.ts";

const runbook = (id: string, appliesTo: RunbookSubject): Runbook => ({
  ...{ id, origin: "local", title: `The ${id}`, body: "Text." },
  appliesTo: [appliesTo],
});

describe("runbooks for a subject", () => {
  const all = [
    runbook("shop", { unit: "shop-*.service" }),
    runbook("disk", { check: "disk_space" }),
    runbook("message", { template: "9ce8c1cd1fdc361b" }),
  ];

  it.each([
    [{ checks: ["disk_space"] }, ["disk"]],
    [{ units: ["shop-db.service", "other.service"] }, ["shop"]],
    [{ templates: ["9ce8c1cd1fdc361b"] }, ["message"]],
    [{ checks: ["disk_space"], units: ["shop-a.service"] }, ["shop", "disk"]],
    [{ checks: ["shop-a.service"], units: ["disk_space", "kernel"] }, []],
    [{}, []],
  ])("for %j are %j", (subjects, ids) => {
    expect(runbooksFor(all, subjects, isWithin).map(({ id }) => id)).toEqual(ids);
  });
});

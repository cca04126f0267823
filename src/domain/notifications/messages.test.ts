import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { NotificationChannel } from "#contract/alerts.ts";
import type { ComponentEvent } from "./components.ts";
import { alertChannels, alertDraft, checkDraft, componentDraft, testDraft } from "./messages.ts";

const at = Date.parse("2026-01-01T00:00:00Z");
const event = (changes: Partial<ComponentEvent> = {}): ComponentEvent => ({
  kind: "component_down",
  component: "web",
  isDown: true,
  changes: 1,
  reason: "it answers 500",
  ...changes,
});

describe("a notification", () => {
  it.each<[Partial<ComponentEvent>, string, boolean]>([
    [{}, "web is unhealthy on host", false],
    [{ kind: "component_up", isDown: false }, "web is healthy again on host", true],
    [{ kind: "component_up", isDown: false, isRemoved: true }, "web is no longer watched on host", true],
    [{ kind: "component_flaps", isDown: false, changes: 4 }, "web flaps: 4 changes within ten minutes on host", false],
    [
      { kind: "component_settled", isDown: false, changes: 17 },
      "web has settled: it is healthy, after 17 changes on host",
      true,
    ],
    [{ kind: "component_settled", changes: 5 }, "web has settled: it is unhealthy, after 5 changes on host", false],
  ])("of a component has its title: %j", (changes, title, isGood) => {
    expect(componentDraft(event(changes), "host", at)).toMatchObject({ title, isGood, subject: "web" });
  });

  it.each([
    ["firing", "[firing] DiskSpaceLow (critical) on host", "firing", "More than 90 % is used", false],
    ["repeated", "[firing] DiskSpaceLow (critical) on host", "still firing", "More than 90 % is used", false],
    ["resolved", "[resolved] DiskSpaceLow (critical) on host", "resolved", "no longer: usage above 90%", true],
  ] as const)("of an alert that is %s has its title and facts", (what, title, state, summary, isGood) => {
    const notified = {
      what,
      name: "DiskSpaceLow",
      severity: "critical" as const,
      summary: "More than 90 % is used",
      expression: "usage above 90%",
      value: 93.256,
      since: at,
    };
    const draft = alertDraft(notified, "host", at);
    expect(draft).toMatchObject({ title, isGood, severity: "critical" });
    expect(Object.fromEntries(draft.facts)).toMatchObject({ State: state, What: summary, Value: "93.3" });
  });

  it.each([
    ["pass", "fail", false, "check_failed", "[failed] Disk space on host", false],
    ["fail", "pass", true, "check_recovered", "[recovered] Disk space on host", true],
    ["fail", "warn", false, "check_warned", "[warning, no longer failed] Disk space on host", false],
    ["fail", "warn", true, "check_recovered", "[warning, no longer failed] Disk space on host", true],
  ] as const)(
    "of a check that went from %s to %s has its kind and title (ends the incident: %s)",
    (before, hard, isOver, kind, title, isGood) => {
      const about = { check_id: "disk_space", name: "Disk space", severity: "critical" as const };
      const result = { ...about, status: hard, message: "m", since: "2026-01-01T00:00:00.000Z" };
      const draft = checkDraft({ result, hard, before, isOver, changes: 1 }, "host", at);
      expect(draft).toMatchObject({ kind, title, isGood, severity: "critical", subject: "disk_space" });
    },
  );

  it("has its title and facts on one line each, whatever hosts and settings contain", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 2000 }), (text) => {
        const drafts = [componentDraft(event({ reason: text }), text, at), testDraft(text, text, at)];
        for (const { title, facts } of drafts) {
          for (const line of [title, ...facts.map(([, fact]) => fact)]) {
            expect(line).not.toMatch(/[\r\n\p{Cc}\u2028\u2029\u202e]/u);
            expect(line.length).toBeLessThanOrEqual(500);
          }
        }
      }),
    );
  });
});

describe("a notification of an alert", () => {
  const all = ["chat", "email", "paging_chat", "paging_email"] as const;
  it.each([
    ["critical", all, ["paging_chat", "paging_email"]],
    ["critical", ["chat", "email", "paging_email"], ["paging_email"]],
    ["critical", ["chat", "email"], ["email"]],
    ["critical", ["chat"], ["chat"]],
    ["critical", [], []],
    ["warning", all, ["email"]],
    ["warning", ["chat", "paging_chat"], ["chat"]],
    ["warning", ["paging_chat"], []],
  ] as const)("that is %s goes, with the channels %j configured, to %j", (severity, configured, channels) => {
    const has = (channel: NotificationChannel) => configured.some((each) => each === channel);
    expect(alertChannels(severity, has)).toEqual(channels);
  });
});

import { describe, expect, it } from "vitest";
import { formatTime } from "#cli/output/text.ts";
import { NotificationFailed } from "#domain/ports/notifications.ts";
import { refusal } from "./cli-run.ts";
import { startTestService, type TestService } from "./harness.ts";
import { useSteward } from "./steward.ts";

let service: TestService;
const { steward } = useSteward(async () => {
  service = await startTestService();
  return service;
});

describe("steward alerts", () => {
  it.each([[["alerts"]], [["alerts", "list"]]])("lists alerts with %j", async (argv) => {
    const { code, out } = await steward([...argv]);
    expect(code).toBe(0);
    expect(out).toMatch(/HighCPUUsage.*warning.*inactive.*10/);
    expect(out).toMatch(/ServiceDown.*critical.*by systemd/);
    expect(out).toMatch(/0 firing\n$/);
  });

  it("exits with 1 while one fires that is not silenced", async () => {
    service.usage.cpu = 97;
    await service.clock.advance(6 * 60_000);
    const firing = await steward("alerts");
    expect([firing.code, firing.out]).toEqual([
      1,
      expect.stringContaining(`firing      ${formatTime("2026-01-01T00:00:15Z")}`),
    ]);
    expect((await steward(["alerts", "silence", "HighCPUUsage", "--for", "2h", "--comment", "a build"])).code).toBe(0);
    const silenced = await steward("alerts --json");
    expect(silenced.code).toBe(0);
    expect(JSON.parse(silenced.out)).toMatchObject({ firing: 1 });
  });

  it("silences a check", async () => {
    const made = await steward("alerts silence vital --for 90m");
    expect(made.out).toMatch(/^vital is silenced until .* \(operation-\d+\)\n$/);
    expect(made.out).toContain(formatTime("2026-01-01T01:30:00Z"));
    expect((await steward("alerts silences")).out).toMatch(/operation-\d+ +vital /);
  });

  it("silences, lists silences, and ends one", async () => {
    const made = await steward(["alerts", "silence", "DiskSpaceLow", "--for", "90m", "--comment", "two\nlines"]);
    expect(made.out).toMatch(/^DiskSpaceLow is silenced until .* \(operation-\d+\)\n$/);
    expect(made.out).toContain(formatTime("2026-01-01T01:30:00Z"));
    const id = /\((.*)\)/.exec(made.out)?.[1] ?? "";
    expect((await steward("alerts silences")).out).toMatch(new RegExp(`${id}.*DiskSpaceLow.*test.*two lines`));
    expect((await steward(["alerts", "unsilence", id])).out).toBe("DiskSpaceLow is no longer silenced\n");
    expect(await steward(["alerts", "unsilence", id])).toMatchObject(refusal("none has this id"));
  });

  it.each([
    [["alerts", "silence", "DiskSpaceLow"], /--for/],
    [["alerts", "silence", "DiskSpaceLow", "--for", "soon"], /30m, 4h or 2d/],
    [
      ["alerts", "silence", "Everything", "--for", "1h"],
      /'Everything' is invalid for argument 'name'.*neither an alert.*HighCPUUsage.*nor the id/,
    ],
    [["alerts", "silence", "DiskSpaceLow", "--for", "31d"], /30 days/],
  ])("refuses %j", async (argv, message) => {
    expect(await steward([...argv])).toMatchObject({ code: 2, err: expect.stringMatching(message) });
    expect(service.alertStore.silences()).toEqual([]);
  });
});

describe("steward notify", () => {
  it("sends a test to each channel, and prints the results", async () => {
    expect(await steward("notify test")).toMatchObject({ code: 0, out: "chat: sent\nemail (ops@example.org): sent\n" });
    service.notifiers.chat.fault = new NotificationFailed("the webhook answers 404", false);
    expect(await steward("notify test chat")).toMatchObject({ code: 1, out: "chat: the webhook answers 404\n" });
    expect((await steward("notify test pigeon")).code).toBe(2);
    expect((await steward("notify test paging_chat")).code).toBe(2);
  });

  it("lists notifications", async () => {
    await steward("notify test email");
    const { code, out } = await steward("notify");
    expect([code, out]).toEqual([0, expect.stringMatching(/email.*sent.*1.*Test notification of Steward/)]);
    expect(out).toMatch(/\n1 notification\n$/);
  });
});

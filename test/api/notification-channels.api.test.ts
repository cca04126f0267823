import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ChannelSeverity, notificationChannels } from "#contract/alerts.ts";
import { createFakeNotifier } from "../fakes/notifier.ts";
import { createFakeProbe } from "../fakes/probe.ts";
import { send, startTestService, type TestService } from "./harness.ts";

const channels = notificationChannels.filter((channel) => !/^(?:chat|email|paging_\w+)$/.test(channel));

let service: TestService;
let notifiers: ReadonlyMap<string, ReturnType<typeof createFakeNotifier>>;
const website = createFakeProbe();
async function start(severity: ChannelSeverity): Promise<void> {
  const fakes = channels.map((channel) => [channel, createFakeNotifier()] as const);
  notifiers = new Map(fakes);
  service = await startTestService({
    addedProbes: { website: website.probe },
    channels: new Map(fakes.map(([channel, fake]) => [channel, Object.assign(fake, { severity })])),
  });
}
beforeEach(() => start("all"));
afterEach(() => service.app.close());

const taken = (kind: string): readonly string[] =>
  channels.filter((channel) => notifiers.get(channel)?.taken.some((message) => message.kind === kind));
const test = (body: unknown) =>
  send(service, { path: "/api/v1/alerts/notifications/test", method: "POST", key: service.admin, body });

describe("the channels that have a severity", () => {
  it("are all channels but chat and email", () => {
    expect(channels).toEqual(["ntfy", "gotify", "telegram", "matrix", "teams", "pagerduty", "opsgenie", "webhook"]);
  });

  it("can be tested one by one", async () => {
    for (const channel of channels) {
      expect((await test({ channel })).json).toEqual({
        success: true,
        message: "sent",
        results: [{ channel, to: [], success: true, message: "sent" }],
      });
      expect(notifiers.get(channel)?.taken).toMatchObject([{ kind: "test" }]);
    }
    expect(taken("test")).toEqual(channels);
  });

  it("with `all` get components and alerts of any severity, and with `critical` none of these", async () => {
    for (const severity of ["all", "critical"] as const) {
      await service.app.close();
      await start(severity);
      website.result = { healthy: false, expected: true, reason: "it answers 500" };
      service.usage.cpu = 99;
      for (let minutes = 0; minutes < 8; minutes += 1) await service.clock.advance(60_000);
      const expected = severity === "all" ? channels : [];
      expect([taken("component_down"), taken("alert_firing")]).toEqual([expected, expected]);
      website.result = { healthy: true, expected: true };
    }
  });
});

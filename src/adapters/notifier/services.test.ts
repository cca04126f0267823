import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type NotificationKind, notificationKinds } from "#contract/alerts.ts";
import { NotificationFailed, type OutgoingMessage } from "#domain/ports/notifications.ts";
import { isRecord } from "#kernel/values.ts";
import { type HttpTarget, httpService } from "./services.ts";

const message = (changes: Partial<OutgoingMessage> = {}): OutgoingMessage => ({
  id: "op-1/ü",
  kind: "alert_firing",
  subject: "DiskSpaceLow",
  at: Date.parse("2026-01-01T12:00:00Z"),
  isGood: false,
  severity: "critical",
  title: "[firing] DiskSpaceLow (critical) on web1",
  facts: [
    ["Alert", "DiskSpaceLow"],
    ["Value", "93.3"],
  ],
  ...changes,
});
const over = message({ kind: "alert_resolved", isGood: true, title: "[resolved] DiskSpaceLow (critical) on web1" });
const warning = message({ severity: "warning" });
const down: OutgoingMessage = {
  id: "1",
  kind: "component_down",
  subject: "web",
  at: 0,
  isGood: false,
  title: "web is unhealthy on web1",
  facts: [["Reason", "it answers 500"]],
};
const test = message({ kind: "test", subject: "test", isGood: true, title: "Test notification" });

const secrets: Readonly<Record<string, string>> = {
  "/hook": "https://hooks.example.org/a/b?sig=s3cret",
  "/token": "tk_s3cret",
  "/bot": "123:s3cret-_A",
  "/topic": "s3cret-topic",
};
const read = (path: string): string => secrets[path] ?? "";
const requestOf = (target: HttpTarget, sent = message()) => {
  const { url, method = "POST", headers = {}, body } = httpService(target, "web1").request(sent, read);
  return { method, url: url.href, headers, body: JSON.parse(JSON.stringify(body)) as Record<string, unknown> };
};

const targets = {
  chat: { service: "chat", webhookFile: "/hook" },
  ntfy: { service: "ntfy", url: "https://ntfy.sh", topic: "steward", tokenFile: "/token" },
  gotify: { service: "gotify", url: "https://gotify.example.org/sub/", tokenFile: "/token" },
  telegram: { service: "telegram", url: "https://api.telegram.org", chatId: -100123, tokenFile: "/bot" },
  matrix: { service: "matrix", url: "https://matrix.example.org", room: "!a/b:example.org", tokenFile: "/token" },
  teams: { service: "teams", webhookFile: "/hook" },
  pagerduty: { service: "pagerduty", url: "https://events.pagerduty.com", routingKeyFile: "/token" },
  opsgenie: { service: "opsgenie", url: "https://api.opsgenie.com", apiKeyFile: "/token" },
  webhook: { service: "webhook", urlFile: "/hook", headers: [] },
} satisfies { readonly [S in HttpTarget["service"]]: Extract<HttpTarget, { service: S }> };

describe("ntfy", () => {
  it("is sent JSON for a topic, with a token if there is one", () => {
    expect(requestOf(targets.ntfy)).toEqual({
      method: "POST",
      url: "https://ntfy.sh/",
      headers: { authorization: "Bearer tk_s3cret" },
      body: {
        topic: "steward",
        title: "[firing] DiskSpaceLow (critical) on web1",
        message: "Alert: DiskSpaceLow\nValue: 93.3",
        priority: 5,
        tags: ["rotating_light"],
        sequence_id: "op-1--",
      },
    });
    const { headers, body } = requestOf({ service: "ntfy", url: "http://[::1]:80", topic: { file: "/topic" } });
    expect([headers, body["topic"]]).toEqual([{}, "s3cret-topic"]);
    const faulty = { ...targets.ntfy, topic: { file: "/hook" } };
    expect(() => requestOf(faulty)).toThrow("cannot use /hook: it does not hold a topic");
  });

  it.each([
    ["critical", message(), 5, "rotating_light"],
    ["warning", warning, 4, "warning"],
    ["without a severity", down, 4, "warning"],
    ["resolved", over, 3, "white_check_mark"],
  ])("is sent a priority and a tag for an event that is %s", (_, sent, priority, tag) => {
    expect(requestOf(targets.ntfy, sent).body).toMatchObject({ priority, tags: [tag] });
  });

  it("is sent at most the length of a message", () => {
    const long = message({ facts: Array.from({ length: 20 }, () => ["Reason", "😀".repeat(125)] as const) });
    const text = String(requestOf(targets.ntfy, long).body["message"]);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4096);
    expect([text.isWellFormed(), text.endsWith("😀…")]).toEqual([true, true]);
  });
});

describe("gotify", () => {
  it("is sent a message of plain text with a priority", () => {
    expect(requestOf(targets.gotify)).toEqual({
      method: "POST",
      url: "https://gotify.example.org/sub/message",
      headers: { "x-gotify-key": "tk_s3cret" },
      body: {
        title: "[firing] DiskSpaceLow (critical) on web1",
        message: "Alert: DiskSpaceLow\nValue: 93.3",
        priority: 9,
        extras: { "client::display": { contentType: "text/plain" } },
      },
    });
    expect([warning, down, over].map((sent) => requestOf(targets.gotify, sent).body["priority"])).toEqual([6, 6, 4]);
  });
});

describe("telegram", () => {
  it("is sent plain text by the bot, and nothing without a valid token", () => {
    expect(requestOf(targets.telegram)).toEqual({
      method: "POST",
      url: "https://api.telegram.org/bot123:s3cret-_A/sendMessage",
      headers: {},
      body: {
        chat_id: -100123,
        text: "🚨 [firing] DiskSpaceLow (critical) on web1\nAlert: DiskSpaceLow\nValue: 93.3",
        link_preview_options: { is_disabled: true },
      },
    });
    const topic: HttpTarget = { ...targets.telegram, chatId: "@ops", threadId: 7 };
    expect(requestOf(topic, over).body).toMatchObject({
      chat_id: "@ops",
      message_thread_id: 7,
      text: expect.stringMatching(/^✅ /),
    });
    for (const token of ["../../x", "123:a/b", "123", "123:a?b", "123:%2e"])
      expect(() => httpService(targets.telegram, "h").request(message(), () => token)).toThrow(
        "cannot use /bot: it does not hold the token of a bot",
      );
  });

  it("is sent at most the length of a message, without halves of characters", () => {
    for (const shift of ["", "x"]) {
      const text = String(requestOf(targets.telegram, message({ title: shift + "😀".repeat(5000) })).body["text"]);
      expect([text.length <= 4096, text.isWellFormed(), text.endsWith("…")]).toEqual([true, true, true]);
    }
  });
});

describe("matrix", () => {
  it("is sent text into the room, in a transaction of the message", () => {
    expect(requestOf(targets.matrix)).toEqual({
      method: "PUT",
      url: "https://matrix.example.org/_matrix/client/v3/rooms/!a%2Fb%3Aexample.org/send/m.room.message/steward-op-1%2F%C3%BC",
      headers: { authorization: "Bearer tk_s3cret" },
      body: {
        msgtype: "m.text",
        body: "[firing] DiskSpaceLow (critical) on web1\nAlert: DiskSpaceLow\nValue: 93.3",
        "m.mentions": {},
      },
    });
  });
});

describe("teams", () => {
  it("is sent a card whose texts are no Markdown", () => {
    const { url, body } = requestOf(targets.teams, message({ facts: [["Reason", "[click](https://evil.example)"]] }));
    expect(url).toBe(secrets["/hook"]);
    expect(body).toMatchObject({
      type: "message",
      attachments: [
        {
          contentType: "application/vnd.microsoft.card.adaptive",
          content: {
            type: "AdaptiveCard",
            body: [
              {
                type: "RichTextBlock",
                inlines: [{ type: "TextRun", text: message().title, weight: "Bolder", color: "Attention" }],
              },
              {
                type: "RichTextBlock",
                inlines: [
                  { type: "TextRun", text: "Reason: " },
                  { type: "TextRun", text: "[click](https://evil.example)" },
                ],
              },
            ],
          },
        },
      ],
    });
    expect(JSON.stringify(requestOf(targets.teams, over).body)).toContain('"color":"Good"');
  });
});

describe("pagerduty", () => {
  it("triggers an incident of host and subject, resolves it, and triggers without an alarm for a test", () => {
    expect(requestOf(targets.pagerduty)).toEqual({
      method: "POST",
      url: "https://events.pagerduty.com/v2/enqueue",
      headers: {},
      body: {
        routing_key: "tk_s3cret",
        event_action: "trigger",
        dedup_key: "steward:web1:alert:DiskSpaceLow",
        client: "Steward",
        payload: {
          summary: "[firing] DiskSpaceLow (critical) on web1",
          source: "web1",
          severity: "critical",
          timestamp: "2026-01-01T12:00:00.000Z",
          component: "DiskSpaceLow",
          class: "alert_firing",
          custom_details: { Alert: "DiskSpaceLow", Value: "93.3" },
        },
      },
    });
    expect(requestOf(targets.pagerduty, over).body).toEqual({
      routing_key: "tk_s3cret",
      event_action: "resolve",
      dedup_key: "steward:web1:alert:DiskSpaceLow",
    });
    expect(requestOf(targets.pagerduty, test).body).toMatchObject({
      event_action: "trigger",
      dedup_key: "steward:web1:test:test",
      payload: { severity: "info" },
    });
  });
});

describe("opsgenie", () => {
  it("creates an alert with an alias of host and subject, and closes it by that, also at Jira Service Management", () => {
    expect(requestOf(targets.opsgenie)).toEqual({
      method: "POST",
      url: "https://api.opsgenie.com/v2/alerts",
      headers: { authorization: "GenieKey tk_s3cret" },
      body: {
        message: "[firing] DiskSpaceLow (critical) on web1",
        alias: "steward:web1:alert:DiskSpaceLow",
        description: "[firing] DiskSpaceLow (critical) on web1\nAlert: DiskSpaceLow\nValue: 93.3",
        details: { Alert: "DiskSpaceLow", Value: "93.3" },
        entity: "DiskSpaceLow",
        source: "web1",
        tags: ["steward", "alert_firing"],
        priority: "P1",
      },
    });
    expect([warning, down, test].map((sent) => requestOf(targets.opsgenie, sent).body["priority"])).toEqual([
      "P3",
      "P3",
      "P5",
    ]);
    expect(String(requestOf(targets.opsgenie, message({ title: "x".repeat(200) })).body["message"])).toHaveLength(130);
    const url = "https://api.atlassian.com/jsm/ops/integration";
    expect(requestOf({ ...targets.opsgenie, url }, over)).toMatchObject({
      url: `${url}/v2/alerts/steward%3Aweb1%3Aalert%3ADiskSpaceLow/close?identifierType=alias`,
      headers: { authorization: "GenieKey tk_s3cret" },
      body: { source: "web1", note: expect.stringContaining("[resolved]") },
    });
  });
});

describe("webhook", () => {
  it("is sent all members of the message without a template", () => {
    expect(requestOf(targets.webhook)).toEqual({
      method: "POST",
      url: secrets["/hook"],
      headers: {},
      body: {
        id: "op-1/ü",
        kind: "alert_firing",
        subject: "DiskSpaceLow",
        host: "web1",
        state: "problem",
        severity: "critical",
        title: "[firing] DiskSpaceLow (critical) on web1",
        text: "Alert: DiskSpaceLow\nValue: 93.3",
        time: "2026-01-01T12:00:00.000Z",
        facts: [
          { name: "Alert", value: "DiskSpaceLow" },
          { name: "Value", value: "93.3" },
        ],
      },
    });
    expect(requestOf(targets.webhook, down).body).toMatchObject({ severity: null, state: "problem" });
    expect(requestOf(targets.webhook, over).body).toMatchObject({ state: "ok" });
  });

  it("is sent the filled template, with headers of values and of secrets", () => {
    const target: HttpTarget = {
      ...targets.webhook,
      headers: [
        { name: "Authorization", value: { file: "/token" } },
        { name: "X-Team", value: "ops" },
      ],
      template: { msg: "{host}: {title}", tags: ["{state}", 7], "{kind}": "{severity}|{unknown}" },
    };
    expect(requestOf(target, message({ title: '"}, {title}' }))).toMatchObject({
      headers: { authorization: "tk_s3cret", "x-team": "ops" },
      body: { msg: 'web1: "}, {title}', tags: ["problem", 7], "{kind}": "critical|{unknown}" },
    });
  });
});

describe("an incident", () => {
  it("has one key from its start to its end, and another for each host, kind and subject", () => {
    const keyOf = (kind: NotificationKind, subject: string, host = "a") =>
      (httpService(targets.pagerduty, host).request(message({ kind, subject }), read).body as { dedup_key: string })
        .dedup_key;
    const component = (["component_down", "component_up", "component_flaps", "component_settled"] as const).map(
      (kind) => keyOf(kind, "web"),
    );
    expect(new Set(component).size).toBe(1);
    const keys = [...component, keyOf("alert_firing", "web"), keyOf("alert_firing", "web", "b"), keyOf("test", "x")];
    expect(new Set(keys).size).toBe(4);
    const long = [keyOf("alert_firing", "x".repeat(300)), keyOf("alert_firing", "x".repeat(301))];
    expect([new Set(long).size, long.every((key) => key.length <= 255)]).toEqual([2, true]);
  });
});

describe("every service", () => {
  const stringsOf = (value: unknown): readonly string[] => {
    if (typeof value === "string") return [value];
    if (Array.isArray(value)) return value.flatMap(stringsOf);
    return isRecord(value) ? Object.entries(value).flatMap(([name, member]) => [name, ...stringsOf(member)]) : [];
  };

  it("refuses a header with characters that no header may have", () => {
    const withHeaders = [targets.ntfy, targets.gotify, targets.matrix, targets.pagerduty, targets.opsgenie];
    for (const target of withHeaders)
      expect(() => httpService(target, "h").request(message(), () => "a\u00fcb")).toThrow(NotificationFailed);
  });

  it.each(Object.values(targets))("is sent hostile messages as text alone: $service", (target) => {
    const hostile = fc.oneof(
      fc.string({ unit: "binary", maxLength: 600 }),
      fc.constantFrom('","x":"', "\\", "](https://evil.example)", "{title}", "<!channel>", "@room", "..", "/", "?#"),
    );
    const messages = fc.record({
      id: hostile,
      kind: fc.constantFrom(...notificationKinds),
      subject: hostile,
      at: fc.constant(0),
      isGood: fc.boolean(),
      severity: fc.constantFrom("warning" as const, "critical" as const),
      title: hostile,
      facts: fc.array(fc.tuple(fc.constant("Reason"), hostile), { maxLength: 8 }),
    });
    /** Its form: what is made of the message is one segment of the path. */
    const formOf = (request: { readonly url: string }) => {
      const { origin, username, pathname, search, hash } = new URL(request.url);
      return { origin, username, segments: pathname.split("/").length, search, hash };
    };
    const [bad, good] = [message(), over].map((sent) => requestOf(target, sent));
    fc.assert(
      fc.property(messages, (sent) => {
        const request = requestOf(target, sent);
        expect([formOf(bad ?? request), formOf(good ?? request)]).toContainEqual(formOf(request));
        expect(request.headers).toEqual(bad?.headers);
        expect(stringsOf(request.body).every((text) => text.isWellFormed())).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});

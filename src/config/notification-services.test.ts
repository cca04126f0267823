import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { NotificationsSettings } from "./alerting-settings.ts";
import { notificationFaults, notificationTargets } from "./notifications.ts";

const faultsOf = (notifications: NotificationsSettings): readonly string[] =>
  notificationFaults({ notifications }, (path, message) => ({ source: "test", path: path.join("."), message })).map(
    ({ path, message }) => `${path}: ${message}`,
  );
const targetsOf = (notifications: NotificationsSettings) => notificationTargets({ notifications }).http;

const smallest = {
  ntfy: { topic: "steward" },
  gotify: { url: "https://gotify.example.org", token_file: "/t" },
  telegram: { chat_id: -1001234567890, token_file: "/t" },
  matrix: { url: "https://matrix.example.org", room: "!abc:example.org", token_file: "/t" },
  teams: { webhook_url_file: "/w" },
  pagerduty: { routing_key_file: "/k" },
  opsgenie: { api_key_file: "/k" },
  webhook: { url_file: "/u" },
} satisfies NotificationsSettings;

describe("settings of notification services", () => {
  it("have default addresses and severities", () => {
    expect(faultsOf(smallest)).toEqual([]);
    expect(targetsOf(smallest)).toEqual([
      { channel: "ntfy", severity: "all", target: { service: "ntfy", url: "https://ntfy.sh", topic: "steward" } },
      {
        channel: "gotify",
        severity: "all",
        target: { service: "gotify", url: "https://gotify.example.org", tokenFile: "/t" },
      },
      {
        channel: "telegram",
        severity: "all",
        target: { service: "telegram", url: "https://api.telegram.org", chatId: -1001234567890, tokenFile: "/t" },
      },
      {
        channel: "matrix",
        severity: "all",
        target: { service: "matrix", url: "https://matrix.example.org", room: "!abc:example.org", tokenFile: "/t" },
      },
      { channel: "teams", severity: "all", target: { service: "teams", webhookFile: "/w" } },
      {
        channel: "pagerduty",
        severity: "critical",
        target: { service: "pagerduty", url: "https://events.pagerduty.com", routingKeyFile: "/k" },
      },
      {
        channel: "opsgenie",
        severity: "critical",
        target: { service: "opsgenie", url: "https://api.opsgenie.com", apiKeyFile: "/k" },
      },
      { channel: "webhook", severity: "all", target: { service: "webhook", urlFile: "/u", headers: [] } },
    ]);
  });

  it("override the defaults", () => {
    const given: NotificationsSettings = {
      ntfy: { url: "http://127.0.0.1:80", topic_file: "/s", token_file: "/t", severity: "critical" },
      telegram: { chat_id: "@ops", token_file: "/t", thread_id: 7, url: "http://127.0.0.1:81" },
      pagerduty: { routing_key_file: "/k", url: "https://events.eu.pagerduty.com", severity: "all" },
      webhook: {
        url_file: "/u",
        headers: [
          { name: "Authorization", value_file: "/a" },
          { name: "X-Team", value: "ops" },
        ],
        template: { text: "{title} on {host}" },
      },
    };
    expect(faultsOf(given)).toEqual([]);
    expect(targetsOf(given)).toMatchObject([
      { severity: "critical", target: { url: "http://127.0.0.1:80", topic: { file: "/s" }, tokenFile: "/t" } },
      { target: { url: "http://127.0.0.1:81", chatId: "@ops", threadId: 7 } },
      { severity: "all", target: { url: "https://events.eu.pagerduty.com" } },
      {
        target: {
          headers: [
            { name: "Authorization", value: { file: "/a" } },
            { name: "X-Team", value: "ops" },
          ],
          template: { text: "{title} on {host}" },
        },
      },
    ]);
  });

  it.each(Object.keys(smallest) as (keyof typeof smallest)[])("are refused with a relative file: %s", (service) => {
    const relative = Object.fromEntries(
      Object.entries(smallest[service]).map(([name, value]) => [name, name.endsWith("_file") ? "relative" : value]),
    );
    const setting = Object.keys(relative).find((name) => name.endsWith("_file")) ?? "token_file";
    const faulty = { [service]: { ...relative, [setting]: "relative" } } as NotificationsSettings;
    expect(faultsOf(faulty)).toEqual([`notifications.${service}.${setting}: must be an absolute path`]);
  });

  it.each<[NotificationsSettings, string]>([
    [{ ntfy: {} }, "ntfy.topic: is required, here or as topic_file"],
    [{ ntfy: { topic: "a", topic_file: "/f" } }, "ntfy.topic_file: cannot be given together with topic"],
    [
      { gotify: { ...smallest.gotify, url: "gotify.example.org" } },
      "gotify.url: must be an address such as https://service.example.org",
    ],
    [{ gotify: { ...smallest.gotify, url: "ftp://g" } }, "gotify.url: must be an address such as"],
    [{ matrix: { ...smallest.matrix, url: "https://u:p@m" } }, "matrix.url: cannot contain a user name or a password"],
    [{ telegram: { ...smallest.telegram, url: "https://t/?x=y" } }, "telegram.url: must not have a query or fragment"],
    [{ opsgenie: { ...smallest.opsgenie, url: "https://o/#x" } }, "opsgenie.url: must not have a query or fragment"],
    [
      { webhook: { url_file: "/u", headers: [{ name: "X-A" }] } },
      "webhook.headers.0.value: is required, here or as value_file",
    ],
    [
      { webhook: { url_file: "/u", headers: [{ name: "X-A", value: "a", value_file: "/f" }] } },
      "webhook.headers.0.value_file: cannot be given together with value",
    ],
    [
      { webhook: { url_file: "/u", headers: [{ name: "X-A", value_file: "f" }] } },
      "webhook.headers.0.value_file: must be an absolute path",
    ],
    [
      { webhook: { url_file: "/u", headers: [{ name: "Content-Length", value: "1" }] } },
      "webhook.headers.0.name: cannot be set: the request sets it itself",
    ],
    [
      {
        webhook: {
          url_file: "/u",
          headers: [
            { name: "X-A", value: "1" },
            { name: "x-a", value: "2" },
          ],
        },
      },
      "webhook.headers.1.name: is given twice",
    ],
    [
      { webhook: { url_file: "/u", template: ["{titel}", { a: "{host} {constructor}" }] } },
      "webhook.template: has no value for {titel}, {constructor} (there are id, kind, subject, host, state, severity, title, text, time)",
    ],
    [{ webhook: { url_file: "/u", template: null } }, "webhook.template: must be a JSON value"],
  ])("are refused: %j", (given, fault) => {
    expect(faultsOf(given)).toEqual([expect.stringContaining(`notifications.${fault}`)]);
  });
});

describe("the schema of notification services", () => {
  const isValid = new Ajv({ strict: false }).compile(NotificationsSettings);
  it.each([
    ["all that is needed", smallest, true],
    ["no topic with a slash", { ntfy: { topic: "a/b" } }, false],
    ["no name of a chat for its id", { telegram: { ...smallest.telegram, chat_id: "my chat" } }, false],
    ["no alias of a room", { matrix: { ...smallest.matrix, room: "#ops:example.org" } }, false],
    ["rooms without a server in their id", { matrix: { ...smallest.matrix, room: "!abc" } }, true],
    ["no header with a line end", { webhook: { url_file: "/u", headers: [{ name: "A", value: "a\r\nB: c" }] } }, false],
    ["no header name with a colon", { webhook: { url_file: "/u", headers: [{ name: "A:", value: "a" }] } }, false],
    ["no token in the settings", { gotify: { ...smallest.gotify, token: "t" } }, false],
    ["no other severity", { pagerduty: { ...smallest.pagerduty, severity: "warning" } }, false],
    ["any JSON for a template", { webhook: { url_file: "/u", template: [1, { a: true }] } }, true],
  ])("accepts %s, or not", (_, given, isTaken) => {
    expect(isValid(given)).toBe(isTaken);
  });
});

import { describe, expect, it } from "vitest";
import type { AlertingSettings } from "./alerting-settings.ts";
import { digestCalendar, notificationFaults, notificationTargets } from "./notifications.ts";

type Notifications = NonNullable<AlertingSettings["notifications"]>;
const email = { smtp: "smtp://127.0.0.1:25", from: "steward@example.org", to: ["ops@example.org"] };
const faultsOf = (notifications: Notifications): readonly string[] =>
  notificationFaults({ notifications }, (path, message) => ({ source: "test", path: path.join("."), message })).map(
    ({ path, message }) => `${path}: ${message}`,
  );

describe("settings of the digest", () => {
  it("have times by word or cron expression", () => {
    const times = (digest: Notifications["digest"]) => digestCalendar({ notifications: { ...(digest && { digest }) } });
    expect([times("daily"), times("weekly"), times(undefined)]).toEqual([
      { cron: "0 8 * * *" },
      { cron: "0 8 * * 1" },
      undefined,
    ]);
    const own = { cron: "30 6 * * 1-5", timezone: "Europe/Berlin" };
    expect(times(own)).toEqual(own);
    expect(faultsOf({ digest: own })).toEqual([]);
    expect(faultsOf({ digest: { cron: "every day" } })).toEqual([
      expect.stringMatching(/^notifications\.digest\.cron: must be five fields/),
    ]);
    expect(faultsOf({ digest: { ...own, timezone: "Europe/Nowhere" } })).toEqual([
      "notifications.digest.timezone: must be a time zone such as Europe/Berlin",
    ]);
  });
});

describe("settings of chat and email", () => {
  it("have a target for each channel, and none by default", () => {
    const paging = { chat: { webhook_url_file: "/etc/page" }, email: { to: ["night@example.org"] } };
    const given = { chat: { webhook_url_file: "/etc/chat" }, email, paging };
    expect(faultsOf(given)).toEqual([]);
    const server = { url: new URL("smtp://127.0.0.1:25"), startTls: "off" };
    expect(notificationTargets({ notifications: given })).toEqual({
      http: [
        { channel: "chat", target: { service: "chat", webhookFile: "/etc/chat" } },
        { channel: "paging_chat", target: { service: "chat", webhookFile: "/etc/page" } },
      ],
      email: [
        { channel: "email", settings: { server, from: "steward@example.org", to: ["ops@example.org"] } },
        { channel: "paging_email", settings: { server, from: "steward@example.org", to: ["night@example.org"] } },
      ],
    });
    expect(notificationTargets({})).toEqual({ http: [], email: [] });
  });

  it("have a mail server of their own for paging, and a login with a password file", () => {
    const own = { ...email, smtp: "smtps://mail.example.org", to: ["night@example.org"] };
    const { email: targets } = notificationTargets({ notifications: { paging: { email: own } } });
    expect(targets).toMatchObject([
      { channel: "paging_email", settings: { server: { url: new URL("smtps://mail.example.org") } } },
    ]);
    const given = { ...email, smtp: "smtps://mail.example.org", user: "steward", password_file: "/etc/pw" };
    expect(faultsOf({ email: given })).toEqual([]);
    expect(notificationTargets({ notifications: { email: given } }).email[0]?.settings.server.login).toEqual({
      user: "steward",
      passwordFile: "/etc/pw",
    });
  });

  it.each([
    ["smtp://127.0.0.1:25", undefined, "off"],
    ["smtp://localhost", undefined, "off"],
    ["smtp://[::1]:25", undefined, "off"],
    ["smtp://mail.example.org:587", undefined, "required"],
    ["smtp://localhost.example.org", undefined, "required"],
    ["smtp://127.0.0.1:25", "required", "required"],
    ["smtp://mail.example.org", "off", "off"],
  ] as const)("use STARTTLS for %s with starttls %s: %s", (smtp, starttls, expected) => {
    const given = { ...email, smtp, ...(starttls !== undefined && { starttls }) };
    expect(notificationTargets({ notifications: { email: given } }).email[0]?.settings.server.startTls).toBe(expected);
  });

  it.each<[Notifications, string]>([
    [{ chat: { webhook_url_file: "hook" } }, "chat.webhook_url_file: must be an absolute path"],
    [{ paging: { chat: { webhook_url_file: "hook" } } }, "paging.chat.webhook_url_file: must be an absolute path"],
    [{ email: { ...email, smtp: "mail.example.org" } }, "email.smtp: must be an address such as smtp://127.0.0.1:25"],
    [{ email: { ...email, smtp: "http://mail" } }, "email.smtp: must be an address such as smtp://127.0.0.1:25"],
    [{ email: { ...email, smtp: "smtp://u:p@mail" } }, "email.smtp: cannot contain a user name or a password"],
    [{ email: { ...email, smtp: "smtp://mail/x" } }, "email.smtp: must end with its port"],
    [{ email: { ...email, user: "u" } }, "email.user: needs password_file"],
    [{ email: { ...email, password_file: "/p" } }, "email.password_file: needs user"],
    [{ email: { ...email, ca_file: "ca.pem" } }, "email.ca_file: must be an absolute path"],
    [
      { email: { ...email, smtp: "smtp://mail", starttls: "off", user: "u", password_file: "/p" } },
      "email.starttls: must be required if a password is sent",
    ],
    [{ paging: { email: { to: ["a@b.c"] } } }, "paging.email.to: needs smtp and from, here or in notifications.email"],
    [{ email, paging: { email: { to: ["a@b.c"], starttls: "off" } } }, "paging.email.starttls: needs smtp"],
  ])("are refused: %j", (given, fault) => {
    expect(faultsOf(given)).toEqual([expect.stringContaining(`notifications.${fault}`)]);
  });
});

/** One notification of Alertmanager, as the mail server or the webhook of the test got it. */
export type Received =
  | { readonly by: "mail"; readonly to: readonly string[]; readonly raw: string }
  | { readonly by: "webhook"; readonly path: string; readonly body: string };

/** Where the receivers listen inside, and the file that they append to, a notification a line. */
export const receivers = { smtpPort: 2525, webhookPort: 9095, file: "/run/received.jsonl" } as const;

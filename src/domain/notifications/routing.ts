import type { AlertSeverity, NotificationChannel } from "#contract/alerts.ts";

const onlyKnown = (
  wanted: readonly NotificationChannel[],
  has: (channel: NotificationChannel) => boolean,
): readonly NotificationChannel[] => wanted.filter(has);

/** News of a component go to chat and to email. */
export const componentChannels: readonly NotificationChannel[] = ["chat", "email"];

/**
 * Where an alert goes: a critical one to the paging receiver, all else to email. Where that is not configured, to what there
 * is: an alert that nobody hears of is none.
 */
export function alertChannels(
  severity: AlertSeverity,
  has: (channel: NotificationChannel) => boolean,
): readonly NotificationChannel[] {
  const paging = severity === "critical" ? onlyKnown(["paging_chat", "paging_email"], has) : [];
  if (paging.length > 0) return paging;
  const email = onlyKnown(["email"], has);
  return email.length > 0 ? email : onlyKnown(["chat"], has);
}

import type { OutgoingMessage } from "#domain/ports/notifications.ts";

/** A line for each fact. */
export const factLines = ({ facts }: Pick<OutgoingMessage, "facts">): string =>
  facts.map(([name, text]) => `${name}: ${text}`).join("\n");

export const titleAndFacts = (message: Pick<OutgoingMessage, "title" | "facts">): string =>
  `${message.title}\n${factLines(message)}`;

/** The text in at most so many bytes of UTF-8, no character halved. */
export function clipBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  // A stream keeps back a character that is not complete.
  return `${new TextDecoder().decode(bytes.subarray(0, maxBytes - 3), { stream: true })}…`;
}

export type Urgency = "good" | "warning" | "critical";

/** What is bad and has no severity counts as a warning. */
export const urgencyOf = ({ isGood, severity = "warning" }: Pick<OutgoingMessage, "isGood" | "severity">): Urgency =>
  isGood ? "good" : severity;

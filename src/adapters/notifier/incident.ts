import { createHash } from "node:crypto";
import type { OutgoingMessage } from "#domain/ports/notifications.ts";

const maxKeyChars = 255;

/**
 * Names the incident that a message begins, goes on with or ends: of one host, one sort of event (the first word of its kind) and one
 * subject. Sending a message again does not open a second one.
 */
export function incidentKey({ kind, subject }: Pick<OutgoingMessage, "kind" | "subject">, host: string): string {
  const [sort = ""] = kind.split("_");
  const key = `steward:${host}:${sort}:${subject}`;
  return key.length <= maxKeyChars ? key : `steward:${createHash("sha256").update(key).digest("hex")}`;
}

/** A test opens an incident as well: what resolves one that is not open reaches nobody. */
export const isResolution = ({ kind, isGood }: Pick<OutgoingMessage, "kind" | "isGood">): boolean =>
  isGood && kind !== "test";

import type { AlertSeverity, NotificationChannel, NotificationKind } from "#contract/alerts.ts";
import type { Message } from "#domain/ports/notifications.ts";
import { toTimestamp } from "#kernel/clock.ts";
import { clipText } from "#kernel/text.ts";
import type { CheckEvent } from "./checks.ts";
import type { ComponentEvent } from "./components.ts";

export interface Draft extends Omit<Message, "id"> {
  readonly kind: NotificationKind;
  readonly subject: string;
}

const maxFactChars = 500;
/** Invisible characters, and those that move the cursor, change direction or end a line. */
const active = /[\p{C}\p{Zl}\p{Zp}]+/gu;

/** On one line of bounded length, whatever its origin. */
export function plainLine(text: string, maxChars = maxFactChars): string {
  const line = text.replaceAll(active, " ").trim();
  return clipText(line, maxChars);
}

export const factsOf = (facts: readonly (readonly [name: string, text: string | undefined])[]): Message["facts"] =>
  facts.flatMap(([name, text]) => (text === undefined || text === "" ? [] : [[name, plainLine(text)] as const]));

const stateWords = (isDown: boolean): string => (isDown ? "unhealthy" : "healthy");

function componentTitle({ kind, component, isDown, changes, isRemoved }: ComponentEvent): string {
  if (isRemoved) return `${component} is no longer watched`;
  switch (kind) {
    case "component_down":
      return `${component} is unhealthy`;
    case "component_up":
      return `${component} is healthy again`;
    case "component_flaps":
      return `${component} flaps: ${changes} changes within ten minutes`;
    case "component_settled":
      return `${component} has settled: it is ${stateWords(isDown)}, after ${changes} changes`;
  }
}

export function componentDraft(event: ComponentEvent, host: string, at: number): Draft {
  const { kind, component, isDown, reason, isRemoved } = event;
  return {
    kind,
    subject: component,
    at,
    isGood: !isDown && kind !== "component_flaps",
    title: plainLine(`${componentTitle(event)} on ${host}`, 200),
    facts: factsOf([
      ["Component", component],
      ["State", isRemoved ? "not watched" : stateWords(isDown)],
      ["Reason", reason],
      ["Time", toTimestamp(at)],
    ]),
  };
}

export const testDraft = (host: string, keyName: string | undefined, at: number): Draft => ({
  kind: "test",
  subject: "test",
  at,
  isGood: true,
  title: plainLine(`Test notification of Steward on ${host}`, 200),
  facts: factsOf([
    ["Asked for by", keyName],
    ["Time", toTimestamp(at)],
  ]),
});

export interface AlertNotice {
  readonly what: "firing" | "repeated" | "resolved";
  readonly name: string;
  readonly severity: AlertSeverity;
  readonly summary: string;
  readonly expression: string;
  readonly value: number | undefined;
  readonly since: number;
}

export function alertDraft(notified: AlertNotice, host: string, at: number): Draft {
  const { what, name, severity, summary, expression, value, since } = notified;
  const isOver = what === "resolved";
  const state = isOver ? "resolved" : "firing";
  return {
    kind: isOver ? "alert_resolved" : "alert_firing",
    subject: name,
    at,
    isGood: isOver,
    severity,
    title: plainLine(`[${state}] ${name} (${severity}) on ${host}`, 200),
    facts: factsOf([
      ["Alert", name],
      ["State", what === "repeated" ? "still firing" : state],
      ["Severity", severity],
      ["What", isOver ? `no longer: ${expression}` : summary],
      ["Value", value === undefined ? undefined : String(Math.round(value * 10) / 10)],
      ["Since", isOver ? undefined : toTimestamp(since)],
      ["Time", toTimestamp(at)],
    ]),
  };
}

const checkKinds = { fail: "check_failed", warn: "check_warned", pass: "check_recovered" } as const;

function checkTitle({ result: { name, status }, hard, before, isUnreported }: CheckEvent): string {
  if (isUnreported) return `[no longer reported] ${name}`;
  if (hard === "fail") return `[failed] ${name}`;
  if (hard === "warn") return before === "fail" ? `[warning, no longer failed] ${name}` : `[warning] ${name}`;
  return status === "skip" ? `[no longer checked] ${name}` : `[recovered] ${name}`;
}

export function checkDraft(event: CheckEvent, host: string, at: number): Draft & { readonly severity: AlertSeverity } {
  const { result, hard, isOver, changes } = event;
  const { check_id: id, severity, message, since } = result;
  return {
    kind: checkKinds[isOver ? "pass" : hard],
    subject: id,
    at,
    isGood: isOver,
    severity: checkSeverity(event),
    title: plainLine(`${checkTitle(event)} on ${host}`, 200),
    facts: factsOf([
      ["Check", id],
      ["Severity", severity],
      ["What", message],
      ["Changes since the last message", changes > 1 ? String(changes) : undefined],
      ["Since", since],
      ["Time", toTimestamp(at)],
    ]),
  };
}

/** A critical check that fails is like an alert of severity critical; so is the end of that. */
const checkSeverity = ({ result, hard, before }: CheckEvent): AlertSeverity =>
  result.severity === "critical" && (hard === "fail" || before === "fail") ? "critical" : "warning";

export interface AutomaticUpdateEvent {
  readonly isGood: boolean;
  readonly what: string;
  readonly message: string;
}

export const automaticDraft = ({ isGood, what, message }: AutomaticUpdateEvent, host: string, at: number): Draft => ({
  kind: isGood ? "updates_installed" : "updates_not_installed",
  subject: "updates.automatic",
  at,
  isGood,
  title: plainLine(`Automatic updates ${isGood ? "installed" : "not installed"} on ${host}`, 200),
  facts: factsOf([
    ["Updates", what === "security" ? "security updates" : "all updates"],
    ["Result", message],
    ["Time", toTimestamp(at)],
  ]),
});

const onlyKnown = (
  wanted: readonly NotificationChannel[],
  has: (channel: NotificationChannel) => boolean,
): readonly NotificationChannel[] => wanted.filter(has);

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

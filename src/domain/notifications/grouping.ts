import type { NotificationChannel, NotificationKind } from "#contract/alerts.ts";
import type { Message, StoredNotification } from "#domain/ports/notifications.ts";
import { clipText, counted } from "#kernel/text.ts";

/** Checks that change within this time share a notification. The first runs after a start are spread over ten seconds. */
export const groupMs = 15_000;
/** Checks in one message, and characters of each: services take messages of 4096. */
const maxGrouped = 15;
const maxChars = 200;

const words: Partial<Readonly<Record<NotificationKind, string>>> = {
  check_failed: "failed",
  check_warned: "warning",
  check_recovered: "recovered",
};

/** Programs read these: an incident for each subject, and fields of one event. */
const ungrouped: readonly NotificationChannel[] = ["pagerduty", "opsgenie", "webhook"];

type Notified = Pick<StoredNotification, "kind" | "subject">;

/** Of a group all checks; ids of checks have no commas. */
export const subjectsOf = ({ kind, subject }: Notified): readonly string[] =>
  words[kind] === undefined ? [subject] : subject.split(", ");

function isSameSubject(one: Notified, other: Notified): boolean {
  const subjects = subjectsOf(other);
  return subjectsOf(one).some((subject) => subjects.includes(subject));
}

/** Whether it waits for others: not what is critical, nor one that was tried, which may have arrived. */
export const isGrouped = ({ kind, channel, attempts, message: { severity } }: StoredNotification): boolean =>
  words[kind] !== undefined && severity !== "critical" && attempts === 0 && !ungrouped.includes(channel);

export const isOfGroup = (one: StoredNotification, other: StoredNotification): boolean =>
  isGrouped(one) &&
  isGrouped(other) &&
  one.channel === other.channel &&
  one.kind === other.kind &&
  one.message.severity === other.message.severity;

/**
 * Those that are sent together with one, in order of arrival; none overtakes another one of its subject.
 * @param queued in order of arrival.
 */
export function groupOf(one: StoredNotification, queued: readonly StoredNotification[]): readonly StoredNotification[] {
  const group: StoredNotification[] = [];
  const passed: StoredNotification[] = [];
  for (const each of queued) {
    const isTaken = isOfGroup(one, each) && !passed.some((other) => isSameSubject(other, each));
    (isTaken ? group : passed).push(each);
  }
  const at = group.findIndex(({ id }) => id === one.id);
  if (at < 0) return [one];
  const start = at - (at % maxGrouped);
  return group.slice(start, start + maxGrouped);
}

function factOf({ kind, subject, message }: StoredNotification): Message["facts"][number] {
  const fact = (name: string): string => message.facts.find(([each]) => each === name)?.[1] ?? "";
  const word = /^\[([^\]]*)\]/.exec(message.title)?.[1] ?? "";
  const changes = fact("Changes since the last message");
  const text = [word === words[kind] ? "" : `${word}: `, fact("What"), changes && ` (${changes} changes)`].join("");
  return [subject, clipText(text, maxChars)];
}

/** One in the place of all, with the id of the first. None of them was tried. */
export function grouped(group: readonly StoredNotification[], host: string): StoredNotification | undefined {
  const [first] = group;
  const last = group.at(-1);
  if (first === undefined || last === undefined || group.length === 1) return first;
  const { message } = first;
  const title = `[${words[first.kind]}] ${counted(group.length, "check")} on ${host}`;
  const [time] = last.message.facts.filter(([name]) => name === "Time");
  return {
    ...first,
    subject: [...new Set(group.flatMap(subjectsOf))].join(", "),
    message: { ...message, title, facts: [...group.map(factOf), ...(time ? [time] : [])] },
  };
}

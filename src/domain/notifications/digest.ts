import type { Alert } from "#contract/alerts.ts";
import { type CheckStatus, type HealthCheckResult, statusRank } from "#contract/checks.ts";
import type { StoredNotification } from "#domain/ports/notifications.ts";
import { type Calendar, type Clock, type Dispose, toTimestamp } from "#kernel/clock.ts";
import { counted } from "#kernel/text.ts";
import { type Draft, factsOf, plainLine } from "./messages.ts";

const lookEveryMs = 60_000;
/** A clock that is set back further than this since the last digest had been wrong then. */
const clockStepMs = 24 * 60 * 60_000;
/** Findings that are listed; the rest is counted. */
const maxListed = 25;

export interface DigestState {
  readonly checks: readonly Pick<HealthCheckResult, "check_id" | "status" | "message">[];
  readonly alerts: readonly Pick<Alert, "name" | "state">[];
  /** Notifications since the last digest. */
  readonly sent: number;
}

function digestTitle(failed: number, warned: number, firing: number): string {
  const parts = [
    ...(failed === 0 ? [] : [counted(failed, "failed check")]),
    ...(warned === 0 ? [] : [counted(warned, "warning")]),
    ...(firing === 0 ? [] : [counted(firing, "firing alert")]),
  ];
  return parts.length === 0 ? "all checks passed" : parts.join(", ");
}

/** @param since when the last one was made, epoch milliseconds. */
export function digestDraft({ checks, alerts, sent }: DigestState, since: number, host: string, at: number): Draft {
  const having = (status: CheckStatus): number => checks.filter((check) => check.status === status).length;
  const firing = alerts.filter(({ state }) => state === "firing");
  const findings = checks
    .filter(({ status }) => statusRank[status] > 0)
    .toSorted((left, right) => statusRank[right.status] - statusRank[left.status]);
  const [failed, warned, passed] = [having("fail"), having("warn"), having("pass")];
  return {
    kind: "digest",
    subject: "digest",
    at,
    isGood: failed === 0 && firing.length === 0,
    title: plainLine(`[report] ${host}: ${digestTitle(failed, warned, firing.length)}`, 200),
    facts: factsOf([
      ...firing.map(({ name }) => [`Alert ${name}`, "firing"] as const),
      ...findings
        .slice(0, maxListed)
        .map(({ check_id: id, status, message }) => [`${id} (${status})`, message] as const),
      ["Further findings", findings.length > maxListed ? String(findings.length - maxListed) : undefined],
      ["Passed", `${passed} of ${checks.length}, ${having("skip")} skipped`],
      ["Notifications since the last report", String(sent)],
      ["Since", toTimestamp(since)],
      ["Time", toTimestamp(at)],
    ]),
  };
}

/**
 * Reports what stands at the times of a calendar. One that falls into a time without the service comes late, and each once: the
 * outbox knows the last.
 */
export function createDigest(ports: {
  readonly calendar: Calendar;
  readonly clock: Clock;
  readonly host: string;
  readonly list: () => readonly Pick<StoredNotification, "kind" | "message">[];
  readonly read: () => Promise<Omit<DigestState, "sent">>;
  readonly post: (draft: Draft) => void;
  readonly onTrouble: (error: unknown) => void;
}) {
  const { calendar, clock, host, list, read, post, onTrouble } = ports;
  let lastAt: number | undefined;
  let isReading = false;
  let isOver = false;
  let stop: Dispose | undefined;

  const send = async (at: number, since: number): Promise<void> => {
    const state = await read();
    if (isOver) return;
    const sent = list().filter(
      ({ kind, message }) => kind !== "digest" && message.at > since && message.at <= at,
    ).length;
    post(digestDraft({ ...state, sent }, since, host, at));
    lastAt = at;
  };

  const look = async (): Promise<void> => {
    const at = clock.now();
    const since = lastAt ?? at;
    lastAt = since - at > clockStepMs ? at : since;
    const due = calendar.latest(at);
    if (isReading || due === undefined || due <= lastAt) return;
    isReading = true;
    try {
      await send(at, lastAt);
    } finally {
      isReading = false;
    }
  };

  return {
    start(): void {
      // Of a service that has made none the time begins now.
      lastAt = list().find(({ kind }) => kind === "digest")?.message.at ?? clock.now();
      const run = (): void => void look().catch(onTrouble);
      stop ??= clock.every(lookEveryMs, run);
      run();
    },
    dispose(): void {
      isOver = true;
      stop?.();
    },
  };
}

import type { Fault, FaultAt } from "./faults.ts";
import type { Settings } from "./settings.ts";
import { toMs } from "./text.ts";
import { scopeFault } from "./windows.ts";

type Sessions = Pick<Settings, "sessions">;

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Of sessions in a browser. */
export const defaultSessions = { idleMs: 30 * minuteMs, absoluteMs: 12 * hourMs, elevatedMs: 15 * minuteMs } as const;

const longestSessionMs = 7 * 24 * hourMs;

export function sessionSettings({ sessions: { idle, absolute, elevated } = {} }: Sessions) {
  const ms = (text: string | undefined, usual: number): number => (text === undefined ? usual : toMs(text));
  return {
    idleMs: ms(idle, defaultSessions.idleMs),
    absoluteMs: ms(absolute, defaultSessions.absoluteMs),
    elevatedMs: ms(elevated, defaultSessions.elevatedMs),
  };
}

export function sessionFaults({ sessions = {} }: Sessions, faultAt: FaultAt): readonly Fault[] {
  return (["idle", "absolute", "elevated"] as const).flatMap((name) => {
    const text = sessions[name];
    if (text === undefined || toMs(text) <= longestSessionMs) return [];
    return [faultAt(["sessions", name], `must be at most 7d, not ${text}`)];
  });
}

type Approvals = Pick<Settings, "approvals">;

const shortestExpiryMs = 1_000;
const longestExpiryMs = 30 * 24 * 60 * 60_000;

export const approvalSettings = ({ approvals = {} }: Approvals) => ({
  requireFor: approvals.require_for ?? [],
  approvers: approvals.approvers ?? 1,
  expireMs: toMs(approvals.expire ?? "1h"),
});

export function approvalFaults({ approvals = {} }: Approvals, faultAt: FaultAt): readonly Fault[] {
  const { require_for: scopes = [], expire } = approvals;
  const ms = toMs(expire ?? "1h");
  return [
    ...scopes.flatMap((entry, index) => {
      const fault = scopeFault(entry);
      return fault === undefined ? [] : [faultAt(["approvals", "require_for", String(index)], fault)];
    }),
    ...(ms < shortestExpiryMs || ms > longestExpiryMs
      ? [faultAt(["approvals", "expire"], "must be from 1s to 30d")]
      : []),
  ];
}

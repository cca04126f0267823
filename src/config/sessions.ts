import type { Fault, FaultAt } from "./faults.ts";
import type { Settings } from "./settings.ts";
import { toMs } from "./text.ts";

type Sessions = Pick<Settings, "sessions">;

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Of sessions in a browser. */
export const defaultSessions = { idleMs: 30 * minuteMs, absoluteMs: 12 * hourMs, elevatedMs: 15 * minuteMs } as const;

const longestMs = 7 * 24 * hourMs;

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
    if (text === undefined || toMs(text) <= longestMs) return [];
    return [faultAt(["sessions", name], `must be at most 7d, not ${text}`)];
  });
}

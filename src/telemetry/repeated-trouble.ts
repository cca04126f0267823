/** Interval for repeating the same message. */
const quietMs = 60_000;
/** Messages that are remembered. */
const maxRemembered = 100;

/** Limits each message to once a minute: with a full disk every request fails. */
export function onceAMinute(
  say: (message: string, details?: string) => void,
  monotonicMs: () => number,
): (message: string, details?: string) => void {
  const saidAt = new Map<string, number>();
  return (message, details) => {
    const now = monotonicMs();
    const last = saidAt.get(message);
    if (last !== undefined && now - last < quietMs) return;
    if (saidAt.size >= maxRemembered) saidAt.clear();
    saidAt.set(message, now);
    say(message, details);
  };
}

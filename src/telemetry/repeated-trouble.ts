/** Interval for repeating the same message. */
const quietMs = 60_000;
/** Messages that are remembered. */
const maxRemembered = 100;

/** Limits each message to once a minute: with a full disk every request fails. */
export function onceAMinute(
  say: (message: string, aside?: string) => void,
  monotonicMs: () => number,
): (message: string, aside?: string) => void {
  const saidAt = new Map<string, number>();
  return (message, aside) => {
    const now = monotonicMs();
    const last = saidAt.get(message);
    if (last !== undefined && now - last < quietMs) return;
    if (saidAt.size >= maxRemembered) saidAt.clear();
    saidAt.set(message, now);
    say(message, aside);
  };
}

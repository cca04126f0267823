/** How long the same is not said again. */
const quietMs = 60_000;
/** Different things that are remembered to have been said. */
const maxRemembered = 100;

/**
 * Says the same no more than once a minute: a disk that is full makes everything that comes in fail, and each failure a line.
 * @param monotonicMs milliseconds that never jump.
 */
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

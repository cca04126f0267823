/** At how many times each test kills what it looks at; each takes some seconds, so that more of them are tried on demand. */
export const kills = Number(process.env["STEWARD_TEST_KILLS"] ?? 3);

/** So many of the times, from the first to the last. */
export function timesToKill<T>(timestamps: readonly T[]): readonly T[] {
  if (kills >= timestamps.length) return timestamps;
  const step = (timestamps.length - 1) / Math.max(1, kills - 1);
  return Array.from({ length: kills }, (_, at) => timestamps[Math.round(at * step)]).filter(
    (each) => each !== undefined,
  );
}

/** At how many moments each test kills what it looks at; each takes some seconds, so that more of them are tried on demand. */
export const kills = Number(process.env["STEWARD_TEST_KILLS"] ?? 3);

/** So many of the moments, from the first to the last. */
export function momentsToKill<T>(moments: readonly T[]): readonly T[] {
  if (kills >= moments.length) return moments;
  const step = (moments.length - 1) / Math.max(1, kills - 1);
  return Array.from({ length: kills }, (_, at) => moments[Math.round(at * step)]).filter((each) => each !== undefined);
}

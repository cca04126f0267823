const maxLength = 255;

const instance = /@[^@]+(?=\.[a-z]+$)/;
const transient = /^(session|run|docker|libpod|crio|machine|app|vte-spawn)-.*(?=\.scope$)/;
/** Parts of a name that are numbers. */
const numbers = /-(\d{3,}|r?(?=[a-f]*\d)[0-9a-f]{4,}|u\d+)(?=[-.]|$)/g;

/** A unit without what differs from start to start, as a pattern that finds it. */
export const unitPattern = (unit: string): string =>
  unit
    .slice(0, maxLength)
    .replace(instance, "@*")
    .replace(transient, (_, kind: string) => `${kind}-*`)
    .replaceAll(numbers, "-*")
    .replaceAll(/(-\*)+/g, "-*");

/** An identifier without the numbers in it. */
export const identifierPattern = (identifier: string): string =>
  identifier.slice(0, maxLength).replaceAll(/[0-9a-f]{8,}|\d{3,}/gi, "*");

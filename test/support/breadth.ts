/** Whether everything is tried, as the project `long` does. */
export const triesAll = process.env["STEWARD_TESTS"] === "all";

/** How much is tried of what there is no end of: in `npm test`, and in the project `long`. */
export const byBreadth = <T>(some: T, all: T): T => (triesAll ? all : some);

/**
 * What of a list is tried in one of many places: in `npm test` every sixth, starting at another one for each place, so that each is tried
 * in a sixth of the places; all of it in the project `long`.
 */
export const partOf = <T>(all: readonly T[], place: number): readonly T[] =>
  triesAll ? all : all.filter((_, at) => (at + place) % 6 === 0);

/** Whether everything is tried, as the project `long` does. */
export const triesAll = process.env["STEWARD_TESTS"] === "all";

/**
 * What of a list is tried in one of many places: in `npm test` every third, beginning at another one for each place, so that each is tried
 * in a third of the places; all of it in the project `long`.
 */
export const partOf = <T>(all: readonly T[], place: number): readonly T[] =>
  triesAll ? all : all.filter((_, at) => (at + place) % 3 === 0);

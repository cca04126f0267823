/** The number from which tests draw what they take by chance: the same tests for the same number. `npm test` prints it. */
export const seed = Number(process.env["STEWARD_TEST_SEED"] ?? 1);

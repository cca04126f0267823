import type { BoundSocket, Exposure, UnitExamination } from "#domain/ports/unit-details.ts";

/** @param answers what is left out cannot be found out. */
export const createFakeUnitExamination = (
  answers: { readonly exposure?: Exposure; readonly listening?: readonly BoundSocket[] } = {},
): UnitExamination => {
  const answer = <T>(value: T | undefined, program: string): Promise<T> =>
    value === undefined ? Promise.reject(new Error(`cannot run ${program}: not installed`)) : Promise.resolve(value);
  return {
    exposure: () => answer(answers.exposure, "systemd-analyze"),
    listening: () => answer(answers.listening, "ss"),
  };
};

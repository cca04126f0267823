import type { RunbookSubject } from "#contract/runbooks.ts";

/** What somebody looks at: ids of checks, canonical names of units, ids of templates. */
export interface Subjects {
  readonly checks?: readonly string[];
  readonly units?: readonly string[];
  readonly templates?: readonly string[];
}

/** Those that apply to one of the subjects at least, in their order. @param isWithin whether a pattern covers a unit. */
export function runbooksFor<T extends { readonly appliesTo: readonly RunbookSubject[] }>(
  all: readonly T[],
  { checks = [], units = [], templates = [] }: Subjects,
  isWithin: (unit: string, pattern: string) => boolean,
): readonly T[] {
  const concerns = ({ check, unit, template }: RunbookSubject): boolean =>
    (check !== undefined && checks.includes(check)) ||
    (unit !== undefined && units.some((each) => isWithin(each, unit))) ||
    (template !== undefined && templates.includes(template));
  return all.filter(({ appliesTo }) => appliesTo.some(concerns));
}

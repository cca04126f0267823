import type { Handlers } from "#contract/operation.ts";
import type { RunbookEntry, runbooks } from "#contract/runbooks.ts";
import { DomainError } from "#domain/common/error.ts";
import { wholeList } from "#domain/common/page.ts";
import { type Runbook, type Runbooks, runbooksFor } from "#domain/ports/runbooks.ts";

const toEntry = ({ id, title, origin, appliesTo }: Runbook): RunbookEntry => ({
  ...{ id, title, origin },
  applies_to: appliesTo.map((subject) => ({ ...subject })),
});

const given = (text: string | undefined): readonly string[] => (text === undefined ? [] : [text]);

export interface UnitNames {
  /** @throws DomainError for what no unit can be called. */
  readonly canonicalUnit: (text: string) => string;
  readonly isWithin: (unit: string, pattern: string) => boolean;
}

export const runbookHandlers = (
  files: Runbooks,
  { canonicalUnit, isWithin }: UnitNames,
): Handlers<typeof runbooks> => ({
  async listRunbooks({ query: { check, unit, template } }, context) {
    const units = given(unit).map(canonicalUnit);
    const { runbooks: all, faults } = await files.read(context.signal());
    const isChosen = [check, unit, template].some((each) => each !== undefined);
    const subjects = { checks: given(check), units, templates: given(template) };
    const found = isChosen ? runbooksFor(all, subjects, isWithin) : all;
    return { runbooks: found.map(toEntry), faults: [...faults], ...wholeList(found.length) };
  },
  async getRunbook({ params: { id } }, context) {
    const { runbooks: all, faults } = await files.read(context.signal());
    const found = all.find((each) => each.id === id);
    if (found !== undefined) return { ...toEntry(found), body: found.body };
    const fault = faults.find(({ file }) => file.endsWith(`/${id}.md`));
    const message =
      fault === undefined ? "it does not exist (GET /runbooks lists those that do)" : `${fault.file}: ${fault.reason}`;
    throw new DomainError("NOT_FOUND", `cannot show the runbook ${id}: ${message}`, { id });
  },
});

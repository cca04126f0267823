import type { FoundRunbooks, Runbook, RunbookFault, Runbooks } from "#domain/ports/runbooks.ts";

export interface FakeRunbooks extends Runbooks {
  runbooks: readonly Runbook[];
  faults: readonly RunbookFault[];
}

export const fakeRunbook = (id: string, given: Partial<Runbook> = {}): Runbook => ({
  id,
  origin: "local",
  title: `What to do about ${id}`,
  appliesTo: [{ check: id }],
  body: `Look at ${id} first.`,
  ...given,
});

export function createFakeRunbooks(): FakeRunbooks {
  const fake: FakeRunbooks = {
    runbooks: [fakeRunbook("cron", { appliesTo: [{ unit: "cron.service" }] })],
    faults: [],
    async read(signal): Promise<FoundRunbooks> {
      await Promise.resolve();
      signal.throwIfAborted();
      return { runbooks: fake.runbooks, faults: fake.faults };
    },
  };
  return fake;
}

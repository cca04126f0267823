/** A part of a journal file is not what it must be: the reader leaves it out and goes on. */
export class DamagedJournal extends Error {
  override readonly name = "DamagedJournal";

  constructor(what: string, offset: number) {
    super(`${what} at byte ${offset}`);
  }
}

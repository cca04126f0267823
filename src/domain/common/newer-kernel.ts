/** The kind of build in a kernel release: `amd64`, `cloud-amd64`, `generic`. Another kind is not what boots next. */
const flavour = (release: string): string => /[a-z]\w*(?:-[a-z]\w*)*$/i.exec(release)?.[0] ?? "";

/** The release of the newest installed kernel of the running kind, where it is newer than what runs. */
export function newerKernel(running: string, installed: readonly string[]): string | undefined {
  // Made on demand: the first collator of a process takes milliseconds.
  const collator = new Intl.Collator("en", { numeric: true });
  const newest = installed
    .filter((release) => flavour(release) === flavour(running))
    .sort(collator.compare)
    .at(-1);
  return newest !== undefined && collator.compare(newest, running) > 0 ? newest : undefined;
}

/**
 * The kind of build in a kernel release: `amd64`, `cloud-amd64`, `generic`, `x86_64+debug`, `v8+`. Another kind is not what boots next. What follows
 * a `+` in the middle names the distribution's release (`6.12.48+deb13-amd64`, `6.12.9+bpo-amd64`), which an upgrade changes.
 */
function flavour(release: string): string {
  const kind = /[a-z]\w*(?:[-+][a-z]\w*)*\+?$/i.exec(release.replace(/\+[\w.]+(?=-)/, ""))?.[0] ?? "";
  // Red Hat's real-time kernels have it in the middle: 4.18.0-553.rt7.342.el8_10.x86_64.
  return /\.rt\d/.test(release) ? `rt-${kind}` : kind;
}

/** The release of the newest installed kernel of the running kind, where it is newer than what runs. */
export function newerKernel(running: string, installed: readonly string[]): string | undefined {
  const others = installed.filter((release) => release !== running && flavour(release) === flavour(running));
  if (others.length === 0) return undefined;
  // Made on demand: the first collator of a process takes 15 ms.
  const { compare } = new Intl.Collator("en", { numeric: true });
  const newest = others.sort(compare).at(-1);
  return newest !== undefined && compare(newest, running) > 0 ? newest : undefined;
}

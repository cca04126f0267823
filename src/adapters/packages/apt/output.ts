/** A package that dpkg could not deal with. */
export interface DpkgError {
  readonly name: string;
  /** dpkg's own words. */
  readonly reason: string;
  /** The last line that was printed while dpkg was at the package, mostly by its own script. */
  readonly said: string | undefined;
}

/** dpkg begins with a package, and what was printed before belongs to another one. */
const beginning = /^(Setting up|Unpacking|Preparing to unpack|Removing|Purging|Processing triggers|Selecting) /;
const noise = /^\(Reading database|^Errors were encountered|^ \S+$/;

/** Where a terminal would show only what follows the last return. */
const shown = (text: string): readonly string[] =>
  text.split("\n").map((line) => line.replace(/\r+$/, "").replace(/^.*\r/, "").trimEnd());

/** What dpkg says that it could not do. */
export function parseDpkgErrors(text: string): readonly DpkgError[] {
  const errors: DpkgError[] = [];
  let said: string | undefined;
  const lines = shown(text);
  for (const [at, line] of lines.entries()) {
    const [, name] = /^dpkg: error processing (?:package|archive) (\S+)(?: \([^)]*\))?:$/.exec(line) ?? [];
    if (name !== undefined) {
      errors.push({ name, reason: (lines[at + 1] ?? "").trim(), said });
      said = undefined;
    } else if (beginning.test(line)) said = undefined;
    else if (line !== "" && !noise.test(line)) said = line.trim();
  }
  return errors;
}

const most = 3;

/** Why apt or dpkg failed, in a sentence made of their own words and those of the packages. */
export function failureReason(text: string, exitCode: number): string {
  const errors = parseDpkgErrors(text);
  if (errors.length > 0) {
    const told = errors
      .slice(0, most)
      .map(({ name, reason, said }) => `${name}: ${reason}${said === undefined ? "" : ` (${said})`}`);
    return [...told, ...(errors.length > most ? [`and ${errors.length - most} more packages`] : [])].join("; ");
  }
  const lines = shown(text).filter((line) => line !== "");
  const own = lines.filter((line) => /^(E:|dpkg: error:)/.test(line)).slice(0, most);
  const told = own.length > 0 ? own : lines.slice(-1);
  return told.length > 0 ? told.map((line) => line.replace(/^E: /, "")).join("; ") : `exit code ${exitCode}`;
}

/** The process that holds a lock, as apt and dpkg tell when they did not get it; undefined where that is not why they failed. */
export function parseLockConflict(text: string): { readonly pid: number | undefined } | undefined {
  const conflict =
    /^(?:dpkg: error: dpkg (?:frontend|database) lock (?:was|is) locked by another process|E: Could not get lock )(.*)$/m.exec(
      text,
    );
  if (conflict === null) return undefined;
  const pid = Number(/(?:with pid|by process) (\d+)/.exec(conflict[1] ?? "")?.[1]);
  return { pid: Number.isSafeInteger(pid) && pid > 0 ? pid : undefined };
}

import type { OutputReader } from "../common/transactions.ts";

export interface DpkgError {
  readonly name: string;
  readonly reason: string;
  /** The last line that was printed while dpkg was at the package, mostly by its own script. */
  readonly said: string | undefined;
}

/** dpkg begins with a package, and what was printed before belongs to another one. */
const stepStart = /^(Setting up|Unpacking|Preparing to unpack|Removing|Purging|Processing triggers|Selecting) /;
const noise = /^\(Reading database|^Errors were encountered|^ \S+$|^(?:Get|Hit|Ign|Err):\d+ /;

const shownLine = (line: string): string => line.replace(/\r+$/, "").replace(/^.*\r/, "").trimEnd();

export interface AptStatus {
  readonly kind: "download" | "install";
  readonly percent: number;
  readonly what: string;
}

/** Reads a line of `APT::Status-Fd`; undefined for every other line. */
export function parseStatusLine(line: string): AptStatus | undefined {
  const [, kind, percent, what = ""] = /^(dl|pm)status:[^:]*(?::[^:.]*)?:([0-9.]+):(.*)$/.exec(line) ?? [];
  if (kind === undefined || !(Number(percent) <= 100)) return undefined;
  return { kind: kind === "dl" ? "download" : "install", percent: Number(percent), what };
}

const isForMachines = (line: string): boolean => /^(?:dlstatus|pmstatus|pmerror|pmconffile|media-change):/.test(line);

const shownLines = (text: string): readonly string[] =>
  text
    .split("\n")
    .map(shownLine)
    .filter((line) => !isForMachines(line));

export const readableLine = (line: string): string | undefined => {
  const text = shownLine(line);
  return text === "" || isForMachines(text) || text.startsWith("(Reading database") ? undefined : text;
};

export function parseDpkgErrors(text: string): readonly DpkgError[] {
  const errors: DpkgError[] = [];
  let said: string | undefined;
  const lines = shownLines(text);
  for (const [at, line] of lines.entries()) {
    const [, name] = /^dpkg: error processing (?:package|archive) (\S+)(?: \([^)]*\))?:$/.exec(line) ?? [];
    if (name !== undefined) {
      errors.push({ name, reason: (lines[at + 1] ?? "").trim(), said });
      said = undefined;
    } else if (stepStart.test(line)) said = undefined;
    else if (line !== "" && !noise.test(line)) said = line.trim();
  }
  return errors;
}

const most = 3;

function parseUnsigned(text: string): readonly string[] {
  const [, names = ""] = /^WARNING: The following packages cannot be authenticated!\n((?: .*\n)+)/m.exec(text) ?? [];
  return names.split(/\s+/).filter((name) => name !== "");
}

export function failureReason(text: string, exitCode: number): string {
  const errors = parseDpkgErrors(text);
  if (errors.length > 0) {
    const reported = errors
      .slice(0, most)
      .map(({ name, reason, said }) => `${name}: ${reason}${said === undefined ? "" : ` (${said})`}`);
    return [...reported, ...(errors.length > most ? [`and ${errors.length - most} more packages`] : [])].join("; ");
  }
  const unsigned = parseUnsigned(text);
  if (unsigned.length > 0 && /^E: There were unauthenticated packages/m.test(text))
    return `${unsigned.join(", ")}: the source is not signed, so it cannot be verified; have it signed, or use another one`;
  const lines = shownLines(text).filter((line) => line !== "");
  const own = lines.filter((line) => /^(E:|dpkg: error:)/.test(line)).slice(0, most);
  const reported = own.length > 0 ? own : lines.slice(-1);
  return reported.length > 0 ? reported.map((line) => line.replace(/^E: /, "")).join("; ") : `exit code ${exitCode}`;
}

/** The process that holds a lock, as apt and dpkg name it when they did not get it; undefined where that is not why they failed. */
export function parseLockConflict(text: string): { readonly pid: number | undefined } | undefined {
  const conflict =
    /^(?:dpkg: error: dpkg (?:frontend|database) lock (?:was|is) locked by another process|E: Could not get lock )(.*)$/m.exec(
      text,
    );
  if (conflict === null) return undefined;
  const pid = Number(/(?:with pid|by process) (\d+)/.exec(conflict[1] ?? "")?.[1]);
  return { pid: Number.isSafeInteger(pid) && pid > 0 ? pid : undefined };
}

export const aptOutput: OutputReader = { failureReason, parseLockConflict };

import type { LoggedPackage, LoggedTransaction, PackageCatalog } from "#domain/ports/package-catalog.ts";
import { parseLocalTime, readRotated } from "../common/rotated-logs.ts";
import { comparePackageVersions, withoutZeroEpoch } from "../common/rpm/names.ts";
import type { Zypper } from "./host.ts";

type Draft = { -readonly [Key in keyof LoggedTransaction]: LoggedTransaction[Key] } & { packages: LoggedPackage[] };

/** What zypper downloads before its first package is part of its work; what comes later than this is not. */
const longestPauseMs = 6 * 3_600_000;
/** Lines of what rpm and scripts said. */
const mostLines = 20;
const longestLine = 1000;

/** The fields of a line; a bar that is part of one has a backslash before it. */
const fieldsOf = (line: string): readonly string[] =>
  (line.match(/(?:\\.|[^\\|])*(?:\||$)/g) ?? []).map((field) => field.replace(/\|$/, "").replace(/\\(.)/g, "$1"));

/** `'zypper' 'install' 'app'` without the marks around words that need none. */
function commandOf(text: string): string {
  const words = /^'(.*)'$/.exec(text)?.[1]?.split("' '") ?? [text];
  return words.map((word) => (/^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word}'`)).join(" ");
}

/** Who is named as `user@host`; undefined for root, and for what zypper does by itself. */
function requesterOf(text: string): string | undefined {
  const [, user] = /^([^@:\s]+)@/.exec(text) ?? [];
  return user === "root" ? undefined : user;
}

const isComplaint = (line: string): boolean =>
  /^error: /.test(line) || /^warning: %\w+\(.*\) scriptlet failed/.test(line);

/**
 * Reads the lines of zypper's history, from the oldest. What a package replaces is not logged: it is what was logged before.
 * @param isBeside whether several versions of a package are installed beside each other.
 */
export function createLogReader(isBeside: (name: string) => boolean, onEnd: (found: LoggedTransaction) => void) {
  const versions = new Map<string, string>();
  let draft: Draft | undefined;
  let complaints: string[] = [];
  let lastAt = 0;

  const finish = (): void => {
    if (draft !== undefined && (draft.packages.length > 0 || complaints.length > 0))
      onEnd({ ...draft, error: complaints.length === 0 ? undefined : complaints.join("\n") });
    draft = undefined;
    complaints = [];
  };
  const begin = (at: number, commandLine: string, by: string): void => {
    finish();
    draft = {
      startedAt: at,
      endedAt: undefined,
      commandLine,
      requestedBy: requesterOf(by),
      error: undefined,
      packages: [],
    };
  };
  /** The transaction to which belongs what is logged now. */
  const current = (at: number, by: string): Draft => {
    if (draft === undefined || at - lastAt > longestPauseMs) begin(at, "", by);
    lastAt = at;
    const found = draft as Draft;
    found.endedAt = at;
    return found;
  };

  const installed = (name: string, version: string, architecture: string, by: string): LoggedPackage => {
    const key = `${name}.${architecture}`;
    const before = versions.get(key);
    versions.set(key, version);
    const order = before === undefined ? undefined : comparePackageVersions(version, before);
    const change = { name, architecture, to: version };
    if (order === undefined || (order !== 0 && isBeside(name)))
      return { ...change, action: "install", from: undefined, isAutomatic: by === "" };
    const action = order === 0 ? "reinstall" : order > 0 ? "upgrade" : "downgrade";
    return { ...change, action, from: before, isAutomatic: false };
  };
  const removed = (name: string, version: string, architecture: string, by: string): LoggedPackage => {
    const key = `${name}.${architecture}`;
    if (versions.get(key) === version) versions.delete(key);
    return { name, architecture, action: "remove", from: version, to: undefined, isAutomatic: by === "" };
  };

  const takeRecord = (line: string): void => {
    const [time = "", kind = "", ...rest] = fieldsOf(line);
    const at = parseLocalTime(time);
    if (at === undefined) return;
    const action = kind.trim();
    if (action === "command") {
      const [by = "", commandLine = ""] = rest;
      begin(at, commandOf(commandLine), by);
      lastAt = at;
      return;
    }
    if (action !== "install" && action !== "remove") return;
    const [name = "", version = "", architecture = "", by = ""] = rest;
    if (name === "" || version === "" || architecture === "") return;
    const change = action === "install" ? installed : removed;
    current(at, by).packages.push(change(name, withoutZeroEpoch(version), architecture, by));
  };

  const takeComment = (line: string): void => {
    const [, time = "", what] = /^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (.+ (?:install|remove) failed)$/.exec(line) ?? [];
    const at = parseLocalTime(time);
    if (what !== undefined && at !== undefined) current(at, "");
    else if (!isComplaint(line)) return;
    if (draft !== undefined && complaints.length < mostLines) complaints.push((what ?? line).slice(0, longestLine));
  };

  return {
    takeLine: (line: string): void => {
      if (line.startsWith("# ")) takeComment(line.slice(2));
      else takeRecord(line);
    },
    end: finish,
  };
}

/** How much of the history is read at most: it takes years to be as long. */
const mostCharacters = 48 * 1024 * 1024;

/** Packages of which several versions are installed beside each other: kernels. */
async function besideNames({ exec, places }: Pick<Zypper, "exec" | "places">, signal: AbortSignal) {
  const words = ["--query", "--queryformat=%{NAME}\\n", "--whatprovides", "--", "multiversion(kernel)"];
  const { exitCode, stdout } = await exec([...places.rpm, ...words], { signal });
  return new Set(exitCode === 0 ? stdout.trim().split("\n") : []);
}

/** What zypper and others with its library have done. To know what a package replaced, it is read from the oldest on. */
export const createHistory = ({ exec, places }: Pick<Zypper, "exec" | "places">): PackageCatalog["history"] =>
  async function* (signal) {
    const beside = await besideNames({ exec, places }, signal);
    const texts: string[] = [];
    let length = 0;
    for await (const text of readRotated(places.history, exec, signal)) {
      texts.push(text);
      length += text.length;
      if (length > mostCharacters) break;
    }
    const found: LoggedTransaction[] = [];
    const reader = createLogReader(
      (name) => beside.has(name),
      (transaction) => found.push(transaction),
    );
    for (const text of texts.reverse()) {
      signal.throwIfAborted();
      for (const line of text.split("\n")) reader.takeLine(line);
    }
    reader.end();
    yield* found.reverse();
  };

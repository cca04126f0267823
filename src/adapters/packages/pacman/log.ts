import type { LoggedPackage, LoggedTransaction } from "#domain/ports/package-catalog.ts";

type Draft = { -readonly [Key in keyof LoggedTransaction]: LoggedTransaction[Key] } & { packages: LoggedPackage[] };

/** What is downloaded before the first package is part of the work of a command; what comes later than this is not. */
const longestPauseMs = 6 * 3_600_000;
const mostLines = 20;
const longestLine = 1000;

/** `2026-01-31T12:00:00+0100`, and of older versions the host's own time, `2016-01-31 12:00`. */
export function timeOf(text: string): number | undefined {
  const [, day, minute, second = "00", zone = "", zoneMinute] =
    /^(\d{4}-\d\d-\d\d)[T ]((?:[01]\d|2[0-3]):\d\d)(?::(\d\d))?(?:(Z|[+-]\d\d):?(\d\d)?)?$/.exec(text) ?? [];
  if (day === undefined) return undefined;
  const at = Date.parse(`${day}T${minute}:${second}${zone}${zoneMinute === undefined ? "" : `:${zoneMinute}`}`);
  return Number.isNaN(at) ? undefined : at;
}

const actions = {
  installed: "install",
  reinstalled: "reinstall",
  upgraded: "upgrade",
  downgraded: "downgrade",
  removed: "remove",
} as const;

function packageOf(text: string, architectureOf: (name: string) => string): LoggedPackage | undefined {
  const [, verb = "", name = "", one = "", other] =
    /^(installed|reinstalled|upgraded|downgraded|removed) (\S+) \(([^\s()]+)(?: -> ([^\s()]+))?\)$/.exec(text) ?? [];
  if (name === "") return undefined;
  const action = actions[verb as keyof typeof actions];
  // Whether it came along with others is not logged.
  const change = { name, architecture: architectureOf(name), isAutomatic: false };
  if (action === "install") return { ...change, action, from: undefined, to: one };
  if (action === "remove") return { ...change, action, from: one, to: undefined };
  // Older versions called this an upgrade as well.
  if (action === "reinstall" || other === one) return { ...change, action: "reinstall", from: one, to: one };
  return { ...change, action, from: other === undefined ? undefined : one, to: other ?? one };
}

/** Reads pacman's log, oldest first as it is. @param architectureOf a package, which is not logged. */
export function parseLog(text: string, architectureOf: (name: string) => string): readonly LoggedTransaction[] {
  const found: LoggedTransaction[] = [];
  let command: { readonly at: number; readonly line: string } | undefined;
  let draft: Draft | undefined;
  /** Whether the log says when a transaction begins and ends; older versions did not. */
  let isMarked = false;
  let complaints: string[] = [];

  const finish = (): void => {
    if (draft !== undefined && (draft.packages.length > 0 || draft.error !== undefined))
      found.push({ ...draft, error: draft.error && [draft.error, ...complaints].join("\n") });
    draft = undefined;
    complaints = [];
  };
  const begin = (at: number): Draft => {
    finish();
    const isOf = command !== undefined && at - command.at <= longestPauseMs;
    draft = {
      startedAt: at,
      endedAt: undefined,
      commandLine: isOf ? (command?.line ?? "") : "",
      requestedBy: undefined,
      error: undefined,
      packages: [],
    };
    return draft;
  };
  const takeChange = (at: number, change: LoggedPackage): void => {
    const lastAt = draft?.endedAt ?? draft?.startedAt ?? at;
    const current = draft === undefined || (!isMarked && at - lastAt > longestPauseMs) ? begin(at) : draft;
    current.packages.push(change);
    if (!isMarked) current.endedAt = at;
  };
  const takeEnd = (at: number, how: string): void => {
    if (draft === undefined) return;
    draft.endedAt = at;
    if (how !== "completed") draft.error = `transaction ${how}`;
    isMarked = false;
    finish();
  };

  const takeMessage = (at: number, source: string, message: string): void => {
    const [, line] = source === "PACMAN" ? (/^Running '(.*)'$/.exec(message) ?? []) : [];
    if (line !== undefined) {
      finish();
      isMarked = false;
      command = { at, line };
      return;
    }
    // Another program with pacman's library.
    if (!["", "ALPM", "PACMAN"].includes(source)) command = undefined;
    const [, mark] = /^transaction (started|completed|interrupted|failed)$/.exec(message) ?? [];
    if (mark === "started") {
      begin(at);
      isMarked = true;
    } else if (mark !== undefined) takeEnd(at, mark);
    else if (/^error: /.test(message) && complaints.length < mostLines) complaints.push(message.slice(0, longestLine));
    else {
      const change = packageOf(message, architectureOf);
      if (change !== undefined) takeChange(at, change);
    }
  };

  for (const line of text.split("\n")) {
    const [, time = "", source = "", message = ""] = /^\[([^\]]{1,40})\] (?:\[([\w-]{1,40})\] )?(.*)$/.exec(line) ?? [];
    // What scripts print is theirs.
    if (source === "ALPM-SCRIPTLET") continue;
    const at = timeOf(time);
    if (at !== undefined) takeMessage(at, source, message);
  }
  finish();
  return found;
}

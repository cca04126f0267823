import { counted, words } from "../ui/format.ts";

const verb = (count: number, word: string): string => `${count} ${count === 1 ? `check ${word}s` : `checks ${word}`}`;
const listed = 3;
const actions: Readonly<Record<string, string>> = {
  install: "installed",
  upgrade: "updated",
  downgrade: "downgraded",
  reinstall: "reinstalled",
  remove: "removed",
  purge: "purged",
};

export const texts = {
  title: "Overview",
  ask: "Ask a language model",
  verdictLabel: "State of the host",
  allWell: "All is well: no check fails or warns.",
  verdict: (failed: number, warned: number, findings: readonly { readonly name: string }[]) => {
    const parts = [...(failed > 0 ? [verb(failed, "fail")] : []), ...(warned > 0 ? [verb(warned, "warn")] : [])];
    const names = findings.slice(0, listed).map(({ name }) => name);
    return `${parts.join(" and ")}: ${names.join(", ")}${findings.length > listed ? " and others" : ""}.`;
  },
  passed: (passed: number, total: number) => `${passed} of ${total} checks pass`,
  kernel: (release: string) => `kernel ${release}`,
  threads: (count: number) => `${count} ${count === 1 ? "processor" : "processors"}`,
  findings: "Findings",
  findingCount: (summary: { readonly failed: number; readonly warned: number } | undefined) =>
    summary === undefined ? "" : `${summary.failed} fail, ${summary.warned} warn`,
  check: "Check",
  finding: "What was found",
  since: "Since",
  statuses: { fail: "fails", warn: "warns", pass: "passes", skip: "skipped" },
  fix: "Fix",
  fixTitle: (name: string) => `Fix: ${name}`,
  noFix: "no fix",
  running: "Running now",
  due: "Due",
  toUpdates: "Updates",
  updates: (total: number, security: number) =>
    total === 0
      ? "No updates are pending."
      : `${total} ${total === 1 ? "update" : "updates"}, ${security === 0 ? "none" : security} of them for security`,
  security: "security",
  rebootAt: "The host reboots",
  waiting: (total: number) => `${counted(total, "call")} ${total === 1 ? "waits" : "wait"} for approval`,
  failedUnits: "Failed services",
  noFailedUnits: "No service has failed.",
  unknown: "It is not known.",
  signedIn: "Signed in",
  toUsers: "Users",
  nobody: "Nobody is signed in to the host.",
  session: (user: string, from: string, service: string) => `${user} ${from === "" ? `by ${service}` : `from ${from}`}`,
  recent: "Changed recently",
  noChanges: "Nothing has changed.",
  olderChanges: (count: number) => `Show ${count} older`,
  change: (operation: string, target: string, key: string | null) =>
    `${words(operation)}${target === "" ? "" : `: ${target}`}${key === null ? "" : ` (${key})`}`,
  transaction: (
    packages: readonly { readonly name: string; readonly action: string; readonly automatic: boolean | null }[],
    command: string | null,
  ) => {
    const [first] = packages.filter(({ automatic }) => automatic !== true);
    const named = first ?? packages[0];
    if (named === undefined) return command ?? "packages";
    const others = packages.length - 1;
    const more = others > 0 ? ` and ${others} ${others === 1 ? "other" : "others"}` : "";
    return `${named.name}${more} ${actions[named.action] ?? named.action}`;
  },
} as const;

export const chartTexts = {
  title: "Load, memory, disks and network",
  load: "Load",
  minute: "1 min",
  quarter: "15 min",
  memory: "Memory",
  used: "used",
  swap: "swap",
  disk: "Disks",
  read: "read",
  written: "written",
  network: "Network",
  received: "received",
  sent: "sent",
  both: (one: string, other: string) => `${one} · ${other}`,
  hour: "Last hour",
  day: "Last day",
} as const;

import { basename } from "node:path";
import { expect } from "vitest";
import type { ServiceEntry } from "#contract/system.ts";
import { eventually } from "./eventually.ts";
import type { Session } from "./session.ts";

type On = Pick<Session, "host">;
type Properties = Readonly<Record<string, string>>;
/** An entry as systemctl shows it; what it cannot show is a matcher. */
type Expected = Record<keyof ServiceEntry, unknown>;

function parseBlock(block: string): Properties {
  const pairs = block.split("\n").map((line) => {
    const cut = line.indexOf("=");
    return [line.slice(0, cut), line.slice(cut + 1)];
  });
  return Object.fromEntries(pairs) as Properties;
}

async function show({ host }: On, what: readonly string[]): Promise<readonly Properties[]> {
  const { stdout } = await host.exec(["systemctl", "show", "--all", "--timestamp=us+utc", ...what]);
  return stdout.trim().split("\n\n").map(parseBlock);
}

/** One property of a unit, in systemctl's words. */
export async function property({ host }: On, unit: string, name: string): Promise<string> {
  return (await host.exec(["systemctl", "show", "--value", "--property", name, unit])).stdout.trim();
}

/** `Fri 2026-11-20 16:54:37.249591 UTC` as the service writes it. */
function timestamp(text = ""): string | null {
  const [, day, time] = /^\S+ (\S+) (\d\d:\d\d:\d\d\.\d{3})\d{3} UTC$/.exec(text) ?? [];
  return day === undefined || time === undefined ? null : `${day}T${time}Z`;
}

async function table({ host }: On, list: string): Promise<readonly Properties[]> {
  const { stdout } = await host.exec(["systemctl", list, "--all", "--type=service", "--output=json"]);
  return JSON.parse(stdout) as readonly Properties[];
}

/** Unit files that are links, and the unit that each leads to. */
async function links({ host }: On): Promise<ReadonlyMap<string, string>> {
  const directories = [
    "/etc/systemd/system",
    "/run/systemd/system",
    "/run/systemd/generator",
    "/usr/lib/systemd/system",
  ];
  const { stdout } = await host.exec(["find", ...directories, "-maxdepth", "1", "-type", "l", "-printf", "%f %l\n"]);
  const pairs = stdout
    .trim()
    .split("\n")
    .map((line) => line.split(" "));
  return new Map(pairs.map(([name = "", target = ""]) => [name, basename(target)]));
}

function loadedEntry(row: Properties, shown: Properties, fileState: string | undefined): Expected {
  const unitFileState = fileState ?? shown["UnitFileState"] ?? "";
  const mainPid = Number(shown["MainPID"]);
  return {
    name: row["unit"],
    description: row["description"],
    active: row["active"] === "active",
    running: row["sub"] === "running",
    enabled: unitFileState === "enabled" || unitFileState === "enabled-runtime",
    active_state: row["active"],
    sub_state: row["sub"],
    load_state: row["load"],
    unit_file_state: unitFileState,
    main_pid: mainPid > 0 ? mainPid : null,
    // In a guest whose control groups have no memory controller, nothing is accounted.
    memory_bytes: shown["MemoryCurrent"] === "[not set]" ? null : expect.any(Number),
    restarts: Number(shown["NRestarts"]),
    since: timestamp(shown[sinceProperties[row["active"] ?? ""] ?? ""]),
  };
}

const installedEntry = (name: string, unitFileState: string): Expected => ({
  name,
  description: expect.any(String),
  active: false,
  running: false,
  enabled: unitFileState === "enabled" || unitFileState === "enabled-runtime",
  active_state: "inactive",
  sub_state: "dead",
  load_state: "",
  unit_file_state: unitFileState,
  main_pid: null,
  memory_bytes: null,
  restarts: 0,
  since: null,
});

/** Which property holds the time that `systemctl status` prints after "since". */
const sinceProperties: Readonly<Record<string, string>> = {
  active: "ActiveEnterTimestamp",
  reloading: "ActiveEnterTimestamp",
  activating: "InactiveExitTimestamp",
  deactivating: "ActiveExitTimestamp",
  inactive: "InactiveEnterTimestamp",
  failed: "InactiveEnterTimestamp",
};
const shownProperties = [
  "Id",
  "MainPID",
  "NRestarts",
  "MemoryCurrent",
  "UnitFileState",
  ...Object.values(sinceProperties),
];

/** The service listing put together from what systemctl prints, field by field. */
async function listingOfSystemctl(on: On): Promise<readonly Expected[]> {
  const [loadedRows, fileRows, shown, linked] = await Promise.all([
    table(on, "list-units"),
    table(on, "list-unit-files"),
    show(on, ["*.service", `--property=${shownProperties.join(",")}`]),
    links(on),
  ]);
  const files = new Map(fileRows.map((row) => [row["unit_file"] ?? "", row["state"] ?? ""]));
  const shownById = new Map(shown.map((properties) => [properties["Id"], properties]));
  const entries = new Map<string, Expected>();
  for (const row of loadedRows) {
    // A name that other units refer to.
    if (row["load"] === "not-found" && row["active"] === "inactive") continue;
    const name = row["unit"] ?? "";
    entries.set(name, loadedEntry(row, shownById.get(name) ?? {}, files.get(name)));
  }
  for (const [name, state] of files) {
    const isOtherName = state === "alias" && files.has(linked.get(name) ?? "");
    if (!entries.has(name) && !isOtherName) entries.set(name, installedEntry(name, state));
  }
  return [...entries.values()].sort((a, b) => (String(a.name) < String(b.name) ? -1 : 1));
}

/** What the service starts by itself comes and goes while the two are asked, one after the other. */
const isOwn = ({ name }: { readonly name: unknown }): boolean =>
  /^steward-(task@|plugin-|packages-)/.test(String(name));

/** Waits until the listing of the service and what systemctl prints are the same, its own units aside, and returns it. */
export function sameAsSystemctl(session: Session, timeoutMs = 30_000): Promise<readonly ServiceEntry[]> {
  return eventually(async () => {
    const expected = await listingOfSystemctl(session);
    const { services, total } = await session.api.listServices({ query: { limit: 1000 } });
    expect(services.filter((each) => !isOwn(each))).toEqual(expected.filter((each) => !isOwn(each)));
    expect(total).toBe(services.length);
    return services;
  }, timeoutMs);
}

/** The entry of one service. */
export async function entry(session: Session, name: string): Promise<ServiceEntry | undefined> {
  const { services } = await session.api.listServices({ query: { limit: 1000 } });
  return services.find((service) => service.name === name);
}

/**
 * Compares unit files of every kind, in whichever state they are.
 * @returns the states by name.
 */
export async function sameUnitFiles({ api, shell }: Session): Promise<ReadonlyMap<string, string>> {
  const kinds = ["service", "timer", "socket", "mount", "path", "target", "slice"];
  const { units } = await api.listUnits({ query: { limit: 1000 } });
  const listed = await shell(`systemctl list-unit-files --type=${kinds.join(",")} --output=json`);
  const rows = JSON.parse(listed) as { unit_file: string; state: string }[];
  const theirs = rows
    .filter(({ state }) => state !== "alias")
    .map(({ unit_file, state }) => [unit_file, state] as const);
  const isInstance = (name: string): boolean => /@./.test(name.replace(/\.[a-z]+$/, ""));
  const ours = units
    .filter(({ name, unit_file_state: state }) => state !== "" && !isInstance(name))
    .map(({ name, unit_file_state: state }) => [name, state] as const);
  expect(Object.fromEntries(ours)).toEqual(Object.fromEntries(theirs));
  return new Map(ours);
}

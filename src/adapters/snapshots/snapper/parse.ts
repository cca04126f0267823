import { isRecord } from "#kernel/values.ts";

export interface SnapperEntry {
  readonly number: number;
  readonly type: string;
  readonly createdAt: number;
  readonly description: string;
  readonly userdata: Readonly<Record<string, string>>;
  /** What only this snapshot holds, in bytes; null where quotas are off. */
  readonly usedSpace: number | null;
}

const stringOrEmpty = (value: unknown): string => (typeof value === "string" ? value : "");

function toSnapperEntry(value: unknown): SnapperEntry {
  if (!isRecord(value) || typeof value["number"] !== "number") throw new Error("snapper lists something else");
  const { number, type, date, description, userdata, "used-space": usedSpace } = value;
  const createdAt = Date.parse(`${stringOrEmpty(date).replace(" ", "T")}Z`);
  return {
    number,
    type: stringOrEmpty(type),
    createdAt: Number.isNaN(createdAt) ? 0 : createdAt,
    description: stringOrEmpty(description),
    userdata: isRecord(userdata)
      ? Object.fromEntries(Object.entries(userdata).map(([key, each]) => [key, stringOrEmpty(each)]))
      : {},
    usedSpace: typeof usedSpace === "number" ? usedSpace : null,
  };
}

export function parseList(text: string, config: string): readonly SnapperEntry[] {
  const parsed: unknown = JSON.parse(text);
  const list = isRecord(parsed) ? parsed[config] : undefined;
  if (!Array.isArray(list)) throw new Error(`snapper lists no snapshots of its configuration ${config}`);
  return list.map(toSnapperEntry).filter(({ number }) => number > 0);
}

export function parseConfigOf(text: string, subvolume: string): string | undefined {
  const parsed: unknown = JSON.parse(text);
  const configs = isRecord(parsed) && Array.isArray(parsed["configs"]) ? parsed["configs"] : [];
  const found = configs.filter(isRecord).find((each) => each["subvolume"] === subvolume);
  return found === undefined ? undefined : stringOrEmpty(found["config"]);
}

export function parseNumber(text: string): number {
  if (!/^\d+\n?$/.test(text)) throw new Error(`snapper printed no number but ${JSON.stringify(text)}`);
  return Number(text);
}

export interface StatusEntry {
  readonly path: string;
  readonly change: "added" | "removed" | "modified";
}

const changes: Readonly<Record<string, StatusEntry["change"]>> = { "+": "added", "-": "removed" };

export function parseStatus(text: string): readonly StatusEntry[] {
  const entries: { path: string; change: StatusEntry["change"] }[] = [];
  for (const line of text.replace(/\n$/, "").split("\n")) {
    const [, kind = "", path = ""] = /^([+\-ct.])[p.][u.][g.][x.][a.] (\/.*)$/.exec(line) ?? [];
    const last = entries.at(-1);
    if (path !== "") entries.push({ path, change: changes[kind] ?? "modified" });
    else if (last !== undefined) last.path += `\n${line}`;
  }
  return entries;
}

export interface Subvolume {
  readonly id: number;
  readonly parentId: number;
  readonly path: string;
}

export function parseSubvolumes(text: string): readonly Subvolume[] {
  return [...text.matchAll(/^ID (\d+) gen \d+ top level (\d+) path (.*)$/gm)].map(([, id, parentId, path = ""]) => ({
    id: Number(id),
    parentId: Number(parentId),
    path,
  }));
}

export function parseDefault(text: string): number {
  const [, id] = /^ID (\d+)\b/.exec(text) ?? [];
  if (id === undefined) throw new Error("btrfs does not say which subvolume is the default one");
  return Number(id);
}

export function parseExclusive(text: string): number {
  const [, bytes] = /^\s*\d+\s+(\d+)\s+\S+\s+\S/m.exec(text) ?? [];
  if (bytes === undefined) throw new Error("btrfs does not say how large the snapshot is");
  return Number(bytes);
}

import { mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "#adapters/files/index.ts";
import type { SnapshotDiff } from "#domain/ports/snapshots.ts";
import { isSnapshotId } from "#domain/updates/snapshot.ts";
import { orUndefined } from "#kernel/errors.ts";
import { isRecord } from "#kernel/values.ts";

const readStateFile = (stateDir: string, name: string): Promise<string | undefined> =>
  orUndefined(readFile(join(stateDir, name), "utf8"));

function writeStateFile(stateDir: string, name: string, text: string): void {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  writeFileAtomic(join(stateDir, name), text);
}

export interface Beginning {
  readonly transaction: string;
  readonly packages: SnapshotDiff["packages"];
  readonly files: number;
}

const beginningName = "snapper-rollback.json";

const isVersion = (value: unknown): value is string | null => value === null || typeof value === "string";

function isBeginning(value: unknown): value is Beginning {
  if (!isRecord(value)) return false;
  if (!("transaction" in value && "packages" in value && "files" in value) || !Array.isArray(value.packages))
    return false;
  if (typeof value.transaction !== "string" || !Number.isSafeInteger(value.files)) return false;
  return value.packages.every(
    (each: unknown) =>
      isRecord(each) &&
      typeof each["name"] === "string" &&
      typeof each["architecture"] === "string" &&
      isVersion(each["from"]) &&
      isVersion(each["to"]),
  );
}

export async function readBeginning(stateDir: string, transaction: string): Promise<Beginning | undefined> {
  const text = await readStateFile(stateDir, beginningName);
  if (text === undefined) return undefined;
  const found: unknown = JSON.parse(text);
  if (!isBeginning(found)) throw new Error("what was noted when the rollback began is damaged");
  return found.transaction === transaction ? found : undefined;
}

export const writeBeginning = (stateDir: string, beginning: Beginning): void =>
  writeStateFile(stateDir, beginningName, JSON.stringify(beginning));

const idsName = "snapper-ids.json";

export type GivenIds = ReadonlyMap<string, string>;

/** Ignores damaged content: without it an id may change, without snapshots there would be no way back. */
function parseIds(text: string): GivenIds {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    return new Map();
  }
  if (!isRecord(found)) return new Map();
  const pairs: readonly (readonly [string, unknown])[] = Object.entries(found);
  return new Map(
    pairs.flatMap(([key, id]) => (typeof id === "string" && isSnapshotId(id) ? [[key, id] as const] : [])),
  );
}

export async function readGivenIds(stateDir: string): Promise<GivenIds> {
  const text = await readStateFile(stateDir, idsName);
  return text === undefined ? new Map() : parseIds(text);
}

export const writeGivenIds = (stateDir: string, ids: GivenIds): void =>
  writeStateFile(stateDir, idsName, `${JSON.stringify(Object.fromEntries(ids))}\n`);

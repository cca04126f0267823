import type { SnapshotDiff } from "#domain/ports/snapshots.ts";
import { isRecord } from "#kernel/values.ts";
import { readStateFile, writeStateFile } from "./state-file.ts";

/** What a rollback changes, found out before it begins: after the reboot nothing differs from the snapshot any more. */
export interface Beginning {
  readonly transaction: string;
  readonly packages: SnapshotDiff["packages"];
  readonly files: number;
}

const fileName = "snapper-rollback.json";

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
  const text = await readStateFile(stateDir, fileName);
  if (text === undefined) return undefined;
  const found: unknown = JSON.parse(text);
  if (!isBeginning(found)) throw new Error("what was noted when the rollback began is damaged");
  return found.transaction === transaction ? found : undefined;
}

export const writeBeginning = (stateDir: string, beginning: Beginning): void =>
  writeStateFile(stateDir, fileName, JSON.stringify(beginning));

import { isSnapshotId } from "#domain/updates/snapshot.ts";
import { isRecord } from "#kernel/values.ts";
import { readStateFile, writeStateFile } from "./state-file.ts";

const fileName = "snapper-ids.json";

export type GivenIds = ReadonlyMap<string, string>;

/**
 * Only what has the form of an id is one, whatever the file says. A damaged one says nothing: without it an id may change, but
 * without snapshots there would be no way back.
 */
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

/**
 * Ids that were given to snapshots of others, whose user data is theirs. They are kept in the state folder, which a rollback
 * takes along.
 */
export async function readGivenIds(stateDir: string): Promise<GivenIds> {
  const text = await readStateFile(stateDir, fileName);
  return text === undefined ? new Map() : parseIds(text);
}

export const writeGivenIds = (stateDir: string, ids: GivenIds): void =>
  writeStateFile(stateDir, fileName, `${JSON.stringify(Object.fromEntries(ids))}\n`);

import type { OperationSpec, OperationStore } from "#domain/ports/operations.ts";
import { orUndefinedSync } from "#kernel/errors.ts";
import {
  cancelName,
  claimName,
  directoriesName,
  isOperationId,
  newestClaim,
  nobody,
  specName,
  stateName,
} from "./files.ts";
import { type ForeignDirectory, ForeignFileRefused, openForeignDirectory } from "./foreign-directory.ts";
import { parseProcess, parseSpec, parseState } from "./process.ts";

const maxSpecBytes = 1024 * 1024;
const maxStateBytes = 4 * 1024 * 1024;
const maxClaimBytes = 4096;
const maxNames = 1000;

const orDamaged = <T>(read: () => T): T | undefined =>
  orUndefinedSync(read, (error) => error instanceof ForeignFileRefused);

/** Requests of a service without rights, as root reads them: no links, nothing of other users. */
export function readRequestedOperations(ports: {
  readonly stateDir: string;
  readonly uid: number;
  readonly isAllowed: (spec: Pick<OperationSpec, "kind" | "input">) => boolean;
}): Pick<OperationStore, "read" | "isCancelRequested"> {
  const { stateDir, uid, isAllowed } = ports;

  const readIn = (directory: ForeignDirectory, id: string): ReturnType<OperationStore["read"]> => {
    const names = directory.names();
    if (names.length > maxNames) throw new ForeignFileRefused(`cannot read operation ${id}: it has too many files`);
    const spec = parseSpec(directory.text(specName, { maxBytes: maxSpecBytes }) ?? "");
    if (spec?.id !== id || !isAllowed(spec)) return undefined;
    const number = newestClaim(names);
    const state = orDamaged(() => parseState(directory.text(stateName, { maxBytes: maxStateBytes }) ?? ""));
    if (number === 0) return { spec, state, claim: undefined };
    // One that is being made has two names briefly.
    const text = orDamaged(() => directory.text(claimName(number), { maxBytes: maxClaimBytes, isSingle: false }));
    return { spec, state, claim: { number, process: parseProcess(text ?? "") ?? nobody } };
  };

  const within = <T>(id: string, read: (directory: ForeignDirectory) => T): T | undefined => {
    if (!isOperationId(id)) return undefined;
    const directory = openForeignDirectory(stateDir, [directoriesName, id], { uid });
    if (directory === undefined) return undefined;
    try {
      return read(directory);
    } finally {
      directory.close();
    }
  };

  return {
    read: (id) => within(id, (directory) => readIn(directory, id)),
    isCancelRequested: (id) => within(id, (directory) => directory.names().includes(cancelName)) ?? false,
  };
}

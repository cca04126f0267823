import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, linkSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { preparePrivateDirectory, syncDirectory, writeFileAtomic, writeFileSynced } from "#adapters/files/index.ts";
import { queuedState } from "#domain/operations/state.ts";
import type { OperationSpec, OperationStore } from "#domain/ports/operations.ts";
import { errnoCode, orUndefinedSync } from "#kernel/errors.ts";
import {
  appendLine,
  cancelName,
  claimName,
  directoriesName,
  groupModes,
  isNoFile,
  isOperationId,
  type Modes,
  newestClaim,
  nobody,
  ownModes,
  readIfThere,
  specName,
  stateName,
  tailOf,
} from "./files.ts";
import { parseProcess, parseSpec, parseState } from "./process.ts";

const making = ".new-";
const removing = ".old-";

const entryNames = (directory: string): readonly string[] | undefined =>
  orUndefinedSync(() => readdirSync(directory), isNoFile);

/** `<id>/`: `spec.json`; `state.json`; `claim.<number>`, linked into place, so that one process wins; `log`. */
export function openOperationStore({ stateDir }: { readonly stateDir: string }): OperationStore {
  const root = join(stateDir, directoriesName);
  preparePrivateDirectory(root);
  return storeIn(root, ownModes);
}

export function openSharedOperationStore({ stateDir }: { readonly stateDir: string }): OperationStore {
  return storeIn(join(stateDir, directoriesName), groupModes);
}

function storeIn(root: string, modes: Modes): OperationStore {
  const directoryOf = (id: string): string => {
    if (!isOperationId(id)) throw new Error(`cannot name an operation ${JSON.stringify(id)}`);
    return join(root, id);
  };
  const clear = (prefix: string): void => {
    for (const name of readdirSync(root)) {
      if (name.startsWith(prefix)) rmSync(join(root, name), { recursive: true, force: true });
    }
  };

  const create = (spec: OperationSpec): void => {
    const target = directoryOf(spec.id);
    const directory = join(root, `${making}${spec.id}`);
    clear(making);
    mkdirSync(directory, { mode: 0o700 });
    try {
      if (modes !== ownModes) chmodSync(directory, modes.directory);
      writeFileSynced(join(directory, specName), JSON.stringify(spec), { mode: modes.file });
      writeFileSynced(join(directory, stateName), JSON.stringify(queuedState), { mode: modes.file });
      syncDirectory(directory);
      renameSync(directory, target);
    } catch (error) {
      rmSync(directory, { recursive: true, force: true });
      throw error;
    }
    syncDirectory(root);
  };

  return {
    create,
    ids: () =>
      readdirSync(root)
        .filter(isOperationId)
        .sort((a, b) => (a < b ? 1 : -1)),
    read(id) {
      if (!isOperationId(id)) return undefined;
      const directory = join(root, id);
      // The claims first: a state that is read after them is of them or of a later one, never of an earlier one.
      const names = entryNames(directory);
      const spec = parseSpec(readIfThere(join(directory, specName)) ?? "");
      if (names === undefined || spec?.id !== id) return undefined;
      const number = newestClaim(names);
      const state = parseState(readIfThere(join(directory, stateName)) ?? "");
      if (number === 0) return { spec, state, claim: undefined };
      const process = parseProcess(readIfThere(join(directory, claimName(number))) ?? "") ?? nobody;
      return { spec, state, claim: { number, process } };
    },
    claim(id, number, process) {
      const directory = directoryOf(id);
      const beside = join(directory, `.claim-${randomBytes(6).toString("hex")}`);
      writeFileSynced(beside, JSON.stringify(process), { mode: modes.file });
      try {
        linkSync(beside, join(directory, claimName(number)));
      } catch (error) {
        if (errnoCode(error) === "EEXIST") return false;
        throw error;
      } finally {
        rmSync(beside, { force: true });
      }
      syncDirectory(directory);
      return true;
    },
    write: (id, state) =>
      writeFileAtomic(join(directoryOf(id), stateName), JSON.stringify(state), { mode: modes.file }),
    requestCancel: (id) => writeFileSynced(join(directoryOf(id), cancelName), "", { mode: modes.file }),
    withdrawCancel: (id) => rmSync(join(directoryOf(id), cancelName), { force: true }),
    isCancelRequested: (id) => isOperationId(id) && existsSync(join(root, id, cancelName)),
    appendLog: (id, line) => appendLine(directoryOf(id), line, modes),
    tail: (id, lines) => (isOperationId(id) ? tailOf(join(root, id), lines) : []),
    remove(id) {
      renameSync(directoryOf(id), join(root, `${removing}${id}`));
      clear(removing);
    },
  };
}

import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, linkSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { preparePrivateDirectory, syncDirectory, writeFileAtomic, writeFileSynced } from "#adapters/files/index.ts";
import { queuedState } from "#domain/operations/state.ts";
import type { OperationSpec, OperationStore } from "#domain/ports/operations.ts";
import { errnoCode, orUndefinedSync } from "#kernel/errors.ts";
import { appendLine, groupModes, isNoFile, type Modes, ownModes, readIfThere, tailOf } from "./files.ts";
import { parseProcess, parseSpec, parseState } from "./process.ts";
import {
  cancelName,
  claimName,
  foldersName,
  isOperationId,
  newestClaim,
  nobody,
  specName,
  stateName,
} from "./record.ts";

const making = ".new-";
const removing = ".old-";

const entryNames = (folder: string): readonly string[] | undefined =>
  orUndefinedSync(() => readdirSync(folder), isNoFile);

/** `<id>/`: `spec.json`; `state.json`; `claim.<number>`, linked into place, so that one process wins; `log`. */
export function openOperationStore({ stateDir }: { readonly stateDir: string }): OperationStore {
  const root = join(stateDir, foldersName);
  preparePrivateDirectory(root);
  return storeIn(root, ownModes);
}

export function openSharedOperationStore({ stateDir }: { readonly stateDir: string }): OperationStore {
  return storeIn(join(stateDir, foldersName), groupModes);
}

function storeIn(root: string, modes: Modes): OperationStore {
  const folderOf = (id: string): string => {
    if (!isOperationId(id)) throw new Error(`cannot name an operation ${JSON.stringify(id)}`);
    return join(root, id);
  };
  const clear = (prefix: string): void => {
    for (const name of readdirSync(root)) {
      if (name.startsWith(prefix)) rmSync(join(root, name), { recursive: true, force: true });
    }
  };

  const create = (spec: OperationSpec): void => {
    const target = folderOf(spec.id);
    const folder = join(root, `${making}${spec.id}`);
    clear(making);
    mkdirSync(folder, { mode: 0o700 });
    try {
      if (modes !== ownModes) chmodSync(folder, modes.folder);
      writeFileSynced(join(folder, specName), JSON.stringify(spec), { mode: modes.file });
      writeFileSynced(join(folder, stateName), JSON.stringify(queuedState), { mode: modes.file });
      syncDirectory(folder);
      renameSync(folder, target);
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
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
      const folder = join(root, id);
      // The claims first: a state that is read after them is of them or of a later one, never of an earlier one.
      const names = entryNames(folder);
      const spec = parseSpec(readIfThere(join(folder, specName)) ?? "");
      if (names === undefined || spec?.id !== id) return undefined;
      const number = newestClaim(names);
      const state = parseState(readIfThere(join(folder, stateName)) ?? "");
      if (number === 0) return { spec, state, claim: undefined };
      const process = parseProcess(readIfThere(join(folder, claimName(number))) ?? "") ?? nobody;
      return { spec, state, claim: { number, process } };
    },
    claim(id, number, process) {
      const folder = folderOf(id);
      const beside = join(folder, `.claim-${randomBytes(6).toString("hex")}`);
      writeFileSynced(beside, JSON.stringify(process), { mode: modes.file });
      try {
        linkSync(beside, join(folder, claimName(number)));
      } catch (error) {
        if (errnoCode(error) === "EEXIST") return false;
        throw error;
      } finally {
        rmSync(beside, { force: true });
      }
      syncDirectory(folder);
      return true;
    },
    write: (id, state) => writeFileAtomic(join(folderOf(id), stateName), JSON.stringify(state), { mode: modes.file }),
    requestCancel: (id) => writeFileSynced(join(folderOf(id), cancelName), "", { mode: modes.file }),
    withdrawCancel: (id) => rmSync(join(folderOf(id), cancelName), { force: true }),
    isCancelRequested: (id) => isOperationId(id) && existsSync(join(root, id, cancelName)),
    appendLog: (id, line) => appendLine(folderOf(id), line, modes),
    tail: (id, lines) => (isOperationId(id) ? tailOf(join(root, id), lines) : []),
    remove(id) {
      renameSync(folderOf(id), join(root, `${removing}${id}`));
      clear(removing);
    },
  };
}

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { openAlertStore, type SqliteAlertStore } from "#adapters/alert-store/index.ts";

/** `alerts.db` in a folder that each test has anew. */
export interface AlertDatabase {
  readonly stateDir: () => string;
  readonly file: () => string;
  /** Opens it, and closes it first where it is open: what was read before is of no use to the test. */
  readonly open: () => SqliteAlertStore;
  readonly close: () => void;
  /** Where what was damaged has been put, one for each trouble. */
  readonly troubles: () => readonly (string | undefined)[];
}

/** To be called where tests are declared. */
export function useAlertDatabase(): AlertDatabase {
  let stateDir: string;
  let store: SqliteAlertStore | undefined;
  let troubles: (string | undefined)[];
  const close = (): void => {
    store?.dispose();
    store = undefined;
  };
  beforeEach(() => {
    stateDir = mkdtempSync(join(tmpdir(), "steward-alerts-"));
    troubles = [];
  });
  afterEach(() => {
    close();
    rmSync(stateDir, { recursive: true, force: true });
  });
  return {
    stateDir: () => stateDir,
    file: () => join(stateDir, "alerts.db"),
    open() {
      close();
      store = openAlertStore({ stateDir, onTrouble: (_, aside) => void troubles.push(aside) });
      return store;
    },
    close,
    troubles: () => troubles,
  };
}

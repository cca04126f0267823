import { closeSync, ftruncateSync, openSync, writeSync } from "node:fs";
import type { Mutation } from "./mutations.ts";

/** A journal file that is damaged and made whole again, over and over. */
export interface DamagedFile {
  readonly path: string;
  readonly damage: (mutation: Mutation) => void;
  readonly repair: () => void;
  readonly close: () => void;
}

/** @param sound The whole file's bytes, to which it is repaired. */
export function createDamagedFile(path: string, sound: Buffer): DamagedFile {
  const file = openSync(path, "w", 0o600);
  writeSync(file, sound);
  let applied: Mutation | undefined;
  return {
    path,
    damage(mutation) {
      applied = mutation;
      for (const { offset, bytes } of mutation.patches) {
        writeSync(file, bytes, 0, Math.max(0, Math.min(bytes.length, sound.length - offset)), offset);
      }
      if (mutation.truncateTo !== undefined) ftruncateSync(file, mutation.truncateTo);
    },
    repair() {
      const cut = applied?.truncateTo;
      if (cut !== undefined && cut < sound.length) writeSync(file, sound, cut, sound.length - cut, cut);
      for (const { offset, bytes } of applied?.patches ?? []) {
        writeSync(file, sound, offset, Math.max(0, Math.min(bytes.length, sound.length - offset)), offset);
      }
      applied = undefined;
    },
    close: () => closeSync(file),
  };
}

import { join } from "node:path";
import { readRegularFile, writeFileAtomic } from "#adapters/files/index.ts";
import type { RingStore } from "#domain/ports/host-samples.ts";
import { orReport, orUndefinedSync } from "#kernel/errors.ts";
import { decodeRings, encodeRings } from "./format.ts";

export const ringFile = "system-metrics.bin";
const maxBytes = 1024 * 1024;

/**
 * One file in the state directory, written as a whole.
 * @param ports.onUnreadable hears of a file that is not taken; the next save replaces it.
 * @param ports.onUnsaved hears of the first of several saves in a row that fail.
 */
export function openRingStore(ports: {
  readonly stateDir: string;
  readonly onUnreadable: (error: unknown) => void;
  readonly onUnsaved: (error: unknown) => void;
}): RingStore {
  const path = join(ports.stateDir, ringFile);
  let isFailing = false;
  return {
    load: () =>
      orReport(() => {
        const file = orUndefinedSync(() => readRegularFile(path, { maxBytes, followsLinks: false }));
        return file && decodeRings(file.content);
      }, ports.onUnreadable),
    save(rings) {
      try {
        writeFileAtomic(path, encodeRings(rings));
        isFailing = false;
      } catch (error) {
        if (!isFailing) ports.onUnsaved(error);
        isFailing = true;
      }
    },
  };
}

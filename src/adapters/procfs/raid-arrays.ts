import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { RaidArray, RaidArrays } from "#domain/ports/storage.ts";
import { orUndefined } from "#kernel/errors.ts";

interface Member {
  readonly isFaulty: boolean;
  readonly isSpare: boolean;
}

/** `sda1[0]`, with `(F)` when faulty, `(S)` when spare, `(W)` write-mostly, `(J)` journal, `(R)` replacement. */
function parseMembers(words: readonly string[]): readonly Member[] {
  return words.flatMap((word) => {
    const flags = /\[\d+\]((?:\([A-Z]\))*)$/.exec(word)?.[1];
    if (flags === undefined) return [];
    return { isFaulty: flags.includes("(F)"), isSpare: /\([SJR]\)/.test(flags) };
  });
}

/**
 * A rebuild that waits for another stands at 0. A check of the data is regular care, and not counted; nor is what waits for the first write to
 * an array that is read-only until then.
 */
function parseRebuild(text: string): number | null {
  if (/\(auto-read-only\)/.test(text) && /\bresync\s*=\s*PENDING/.test(text)) return null;
  const progress = /\b(?:recovery|resync|reshape)\s*=\s*(?:([\d.]+)%|(DELAYED|PENDING|REMOTE))/.exec(text);
  return progress === null ? null : Number(progress[1] ?? 0);
}

/** Firmware RAID keeps its metadata in an array of its own, of spares alone, that never runs; its volumes are arrays beside it. */
const isContainer = (block: string): boolean => /\bsuper external:(?!\/)/.test(block);

/** Storage boxes have their system on a mirror with a place for each disk that they could ever have: at least so many. */
const placesOfBox = 12;

/** Whether the missing devices of a mirror are places that were never filled: the last ones, at least half of many. */
function isNeverFilled(level: string, [places, working]: readonly [number, number], block: string): boolean {
  const isMirrorOfBox = level === "raid1" && places >= placesOfBox && working >= 2 && working * 2 <= places;
  return isMirrorOfBox && !block.includes("(F)") && /\[U+_+\]/.test(block);
}

/** /proc/mdstat, md(4): for each array a line with its state and members, and indented lines about it. */
export function parseMdstat(text: string): readonly RaidArray[] {
  return text.split(/\n(?=\S)/).flatMap((block) => {
    const [, name, rest = ""] = /^(md\S*) : (.*)/.exec(block) ?? [];
    if (name === undefined || isContainer(block)) return [];
    const [state = "", ...words] = rest.split(/\s+/).filter((word) => !/^\(.*\)$/.test(word));
    const members = parseMembers(words);
    const level = words.find((word) => !word.includes("[")) ?? "";
    // `[3/2]`: of 3 places 2 work. Levels without redundancy do not have it.
    const [, places, working] = /\[(\d+)\/(\d+)\]/.exec(block) ?? [];
    const inUse = members.filter(({ isSpare }) => !isSpare);
    const devices = Number(places ?? inUse.length);
    const workingDevices = Number(working ?? inUse.filter(({ isFaulty }) => !isFaulty).length);
    return {
      name,
      level,
      isActive: state === "active",
      devices: isNeverFilled(level, [devices, workingDevices], block) ? workingDevices : devices,
      workingDevices,
      rebuildPercent: parseRebuild(block),
    };
  });
}

export function createRaidArrays(ports: { procDir?: string } = {}): RaidArrays {
  const { procDir = "/proc" } = ports;
  return {
    async list() {
      const text = await orUndefined(readFile(join(procDir, "mdstat"), "utf8"));
      return text === undefined ? undefined : parseMdstat(text);
    },
  };
}

import { access } from "node:fs/promises";
import { join } from "node:path";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { type BlockDevice, type BlockDevices, DisksUnavailable } from "#domain/ports/disks.ts";
import { isNotFound } from "#kernel/errors.ts";
import { firstLine } from "#kernel/text.ts";
import { type JsonObject, parseJsonObject, recordsIn } from "#kernel/values.ts";

const timeoutMs = 10_000;
/** Ten thousand devices and more. */
const maxOutputBytes = 16 * 1024 * 1024;
/** lsblk nests what is made of a device in it; an answer that is nested deeper is not an answer of lsblk. */
const deepest = 64;

const columns = [
  // lsblk answers with a tree only where this column is asked for.
  "NAME",
  "KNAME",
  "PATH",
  "MAJ:MIN",
  "TYPE",
  "SIZE",
  "RO",
  "RM",
  "ROTA",
  "MODEL",
  "TRAN",
  "FSTYPE",
  "LABEL",
  "UUID",
];
const argv = ["lsblk", "--json", "--bytes", `--output=${columns.join(",")}`] as const;

/** Before util-linux 2.33 numbers and booleans are strings. */
const isTrue = (value: unknown): boolean => value === true || value === "1";

function parseDevice(row: JsonObject): Omit<BlockDevice, "parents"> | undefined {
  const text = (key: string): string | null => {
    const value = row[key];
    return typeof value === "string" && value.trim() !== "" ? value.trim() : null;
  };
  const name = text("kname");
  const { size: given = 0 } = row;
  const size = typeof given === "number" || typeof given === "string" ? Number(given) : 0;
  if (name === null || !Number.isSafeInteger(size) || size < 0) return undefined;
  const type = text("fstype");
  return {
    name,
    path: text("path") ?? `/dev/${name}`,
    number: text("maj:min") ?? "",
    type: text("type") ?? "",
    sizeBytes: size,
    isReadOnly: isTrue(row["ro"]),
    isRemovable: isTrue(row["rm"]),
    isRotational: row["rota"] === null || row["rota"] === undefined ? null : isTrue(row["rota"]),
    model: text("model"),
    transport: text("tran"),
    content: type === null ? null : { type, label: text("label"), uuid: text("uuid") },
  };
}

/**
 * `lsblk --json --bytes`, lsblk(8): a device stands below each of those that it is made of, here it is once.
 * @returns undefined for anything else.
 */
export function parseDevices(text: string): readonly BlockDevice[] | undefined {
  const answer = parseJsonObject(text);
  if (answer === undefined || !Array.isArray(answer["blockdevices"])) return undefined;
  const found = new Map<string, BlockDevice>();
  const add = (rows: readonly JsonObject[], parent: string | undefined, depth: number): void => {
    for (const row of rows) {
      const device = parseDevice(row);
      if (device === undefined) continue;
      const { parents = [] } = found.get(device.name) ?? {};
      const isNew = parent !== undefined && parent !== device.name && !parents.includes(parent);
      // Put in again, so that it comes after all its parents.
      found.delete(device.name);
      found.set(device.name, { ...device, parents: isNew ? [...parents, parent] : parents });
      if (depth < deepest) add(recordsIn(row["children"]), device.name, depth + 1);
    }
  };
  add(recordsIn(answer["blockdevices"]), undefined, 0);
  return [...found.values()];
}

/** Devices by lsblk, which reads /sys and the records of udev: it opens no device and wakes no disk. */
export function createBlockDevices(ports: { readonly exec: Exec; readonly sysDir?: string }): BlockDevices {
  const { exec, sysDir = "/sys" } = ports;

  const run = async (signal: AbortSignal) => {
    try {
      return await exec(argv, { signal, timeoutMs, maxOutputBytes });
    } catch (error) {
      if (!(error instanceof CommandFailed)) throw error;
      if (isNotFound(error.cause))
        throw new DisksUnavailable("lsblk is not installed (package util-linux)", "lsblk", {
          retryable: false,
          cause: error,
        });
      throw new DisksUnavailable(error.message, "lsblk", { retryable: true, cause: error });
    }
  };

  return {
    async list(signal) {
      const directory = join(sysDir, "block");
      try {
        await access(directory);
      } catch (error) {
        throw new DisksUnavailable(
          `there is no ${directory}: the host does not show its devices to this container`,
          directory,
          {
            retryable: false,
            cause: error,
          },
        );
      }
      const { exitCode, stdout, stderr, truncated } = await run(signal);
      // Without any device some versions say nothing at all.
      const devices = exitCode === 0 && stdout.trim() === "" ? [] : parseDevices(stdout);
      if (exitCode === 0 && devices !== undefined && !truncated) return devices;
      const reason = truncated ? "its output is too long" : firstLine(stderr) || `exit code ${exitCode}`;
      throw new DisksUnavailable(`lsblk does not list devices: ${reason}`, "lsblk", { retryable: true });
    },
  };
}

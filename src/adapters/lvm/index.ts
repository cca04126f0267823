import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import type { ThinPool, ThinPools } from "#domain/ports/storage.ts";
import { isDeviceGone, isNotFound, orUndefined } from "#kernel/errors.ts";
import { isString, parseJsonObject, recordsIn } from "#kernel/values.ts";

const fields = ["vg_name", "lv_name", "lv_size", "data_percent", "metadata_percent", "lv_health_status"];
/** Not with `--readonly`, with which it asks nothing of the kernel: no pool is active then, and none says how full it is. */
const argv = [
  "lvs",
  "--reportformat=json",
  "--units=b",
  "--nosuffix",
  // Without waiting for who changes volumes.
  "--nolocking",
  `--options=${fields.join(",")}`,
  "--select=segtype=thin-pool && lv_active=active",
] as const;

const maxComplaintChars = 500;

/** lvs(8), lvmreport(7). Values are strings, whatever they are. */
export function parseThinPools(text: string): readonly ThinPool[] {
  const reports = recordsIn(parseJsonObject(text)?.["report"]);
  return reports
    .flatMap(({ lv }) => recordsIn(lv))
    .map((volume) => {
      const of = (field: string): string => (isString(volume[field]) ? volume[field] : "");
      const percent = (field: string): number | null => (of(field) === "" ? null : Number(of(field)));
      return {
        name: `${of("vg_name")}/${of("lv_name")}`,
        sizeBytes: Number(of("lv_size")),
        dataPercent: percent("data_percent"),
        metadataPercent: percent("metadata_percent"),
        health: of("lv_health_status"),
      };
    });
}

export function createThinPools(ports: { exec: Exec; sysDir?: string }): ThinPools {
  const { exec, sysDir = "/sys" } = ports;
  return {
    async arePresent() {
      const devices = (await orUndefined(readdir(join(sysDir, "block")))) ?? [];
      const uuids = devices
        .filter((name) => name.startsWith("dm-"))
        .map((name) => orUndefined(readFile(join(sysDir, "block", name, "dm/uuid"), "utf8"), isDeviceGone));
      // As LVM names the device of a pool, lib/activate/dev_manager.c.
      return (await Promise.all(uuids)).some((uuid) => /^LVM-.*-tpool$/.test(uuid?.trim() ?? ""));
    },
    async list(signal) {
      const ended = await orUndefined(
        exec(argv, { signal, timeoutMs: 20_000 }),
        (error) => error instanceof CommandFailed && isNotFound(error.cause),
      );
      if (ended === undefined) return undefined;
      const { exitCode, stdout, stderr } = ended;
      const pools = parseThinPools(stdout);
      if (exitCode === 0) return { pools, complaint: "" };
      const complaint =
        stderr
          .trim()
          .replaceAll(/\s*\n\s*/g, "; ")
          .slice(0, maxComplaintChars) || `exit code ${exitCode}`;
      if (pools.length === 0) throw new CommandFailed(`cannot ask lvs: ${complaint}`);
      return { pools, complaint };
    },
  };
}

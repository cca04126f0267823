import { readFileSync } from "node:fs";

/** What systemd passes to a unit that asks for it (`Environment=STEWARD_BOOT_ID=%b`). */
const bootVariable = "STEWARD_BOOT_ID";

const kernelFile = "/proc/sys/kernel/random/boot_id";

/** As the journal writes it (sd-id128(3)). In a container the kernel's file may be covered by another id. */
export const readBootId = (reported = process.env[bootVariable]): string =>
  (reported ?? readFileSync(kernelFile, "latin1")).trim().replaceAll("-", "");

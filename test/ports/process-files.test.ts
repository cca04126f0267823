import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createProcessFiles } from "#adapters/procfs/process-files.ts";
import type { ProcessFiles } from "#domain/ports/process-files.ts";
import { createFakeProcessFiles } from "../fakes/process-files.ts";

const procDir = mkdtempSync(join(tmpdir(), "steward-proc-"));
afterAll(() => rmSync(procDir, { recursive: true }));

/** As an older kernel shows a process, whose directory of files has to be read. */
function addProcess(pid: number, name: string, open: number, limit: string): void {
  mkdirSync(join(procDir, String(pid), "fd"), { recursive: true });
  for (let fd = 0; fd < open; fd += 1) writeFileSync(join(procDir, String(pid), "fd", String(fd)), "");
  writeFileSync(join(procDir, String(pid), "comm"), `${name}\n`);
  const limits = ["Limit                     Soft Limit           Hard Limit           Units     "];
  limits.push("Max processes             96120                96120                processes ");
  limits.push(`Max open files            ${limit.padEnd(20)} 524288               files     `, "");
  writeFileSync(join(procDir, String(pid), "limits"), limits.join("\n"));
}
addProcess(7, "nginx", 60, "1024");
addProcess(8, "leaky", 80, "100");
addProcess(9, "quiet", 49, "50");

const found = [
  { pid: 8, name: "leaky", open: 80, limit: 100 },
  { pid: 7, name: "nginx", open: 60, limit: 1024 },
];

describe.each([
  ["fake", createFakeProcessFiles(found)],
  ["procfs", createProcessFiles({ procDir })],
] as const)("files of processes: %s", (_, files: ProcessFiles) => {
  it("are those of the processes nearest to their limits", async () => {
    expect(await files.busiest(5)).toEqual(found);
    expect(await files.busiest(1)).toEqual(found.slice(0, 1));
  });
});

it("files of processes: those of this one are counted, with its limit", async () => {
  const held = Array.from({ length: 200 }, () => openSync("/dev/null", "r"));
  try {
    const own = (await createProcessFiles().busiest(10_000)).find(({ pid }) => pid === process.pid);
    expect(own?.open).toBeGreaterThanOrEqual(200);
    expect(readFileSync("/proc/self/limits", "utf8")).toMatch(new RegExp(`^Max open files +${own?.limit} `, "m"));
  } finally {
    held.forEach(closeSync);
  }
});

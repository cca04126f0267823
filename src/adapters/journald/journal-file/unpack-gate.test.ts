import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const gateFile = fileURLToPath(new URL("./unpack-gate.ts", import.meta.url));

/** Threads that do nothing but unpack, and are ended at any time. */
const program = `
  import { Worker, isMainThread, workerData } from "node:worker_threads";
  import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
  import { createUnpackGate, endOutsideUnpacking, closeGates, setUnpackGate, unpacking } from ${JSON.stringify(gateFile)};
  if (isMainThread) {
    const open = new Set();
    process.once("exit", () => closeGates(open, 2000));
    for (let round = 0; round < 30; round += 1) {
      const gate = createUnpackGate();
      open.add(gate);
      const worker = new Worker(process.argv[1], { workerData: gate });
      await new Promise((resolve) => worker.once("message", resolve));
      await new Promise((resolve) => setTimeout(resolve, round % 6));
      if (round === 29) break;
      const ended = new Promise((resolve) => worker.once("exit", resolve));
      endOutsideUnpacking(gate, () => worker.terminate());
      await ended;
      open.delete(gate);
    }
    process.stdout.write("all ended");
    process.exit(0);
  } else {
    const { parentPort } = await import("node:worker_threads");
    setUnpackGate(workerData);
    const packed = zstdCompressSync(Buffer.alloc(2000, "ab"));
    parentPort.postMessage("up");
    for (;;) unpacking(() => zstdDecompressSync(packed));
  }
`;

it("no thread is terminated while it decompresses, also at the end of the process", async () => {
  const directory = mkdtempSync(join(tmpdir(), "steward-gate-"));
  const file = join(directory, "program.mjs");
  writeFileSync(file, program);
  const { stdout } = await promisify(execFile)(process.execPath, [file]);
  expect(stdout).toBe("all ended");
  rmSync(directory, { recursive: true });
});

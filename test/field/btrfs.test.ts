import { mkdirSync, symlinkSync } from "node:fs";
import { expect, it } from "vitest";
import { createHostFiles } from "#adapters/host-files/index.ts";
import { judgeRecords, readRecords } from "#domain/health/checks/filesystem-health.ts";
import { createFakeFileSystems, fakeFileSystem } from "../fakes/file-systems.ts";
import { directoryPerTest } from "../ports/support/directories.ts";
import { describeCases, uncovered } from "./cases.ts";

const { signal } = new AbortController();

const kernel = "the counters of the kernel are read in its files, without btrfs";
const scrub = "the file of /var/lib/btrfs is read, from which btrfs makes this";
const unread = {
  "device-stats-clean.txt": kernel,
  "device-stats-luks.txt": kernel,
  "scrub-status-finished-R.txt": scrub,
  "scrub-status-finished-old-R.txt": scrub,
  "scrub-status-running-R.txt": scrub,
  "show-one-missing-with-path.txt": kernel,
  "show-some-missing-old.txt": kernel,
  "show-two-missing.txt": kernel,
};

describeCases("btrfs", ({ path, files }) => {
  const dir = directoryPerTest();

  it("every file is read below or has a reason why not", () => {
    expect(uncovered(files(), { read: ["sysfs/"], unread })).toEqual([]);
  });

  it("sysfs of a kernel without devinfo: errors and missing devices are unknown, not none", async () => {
    mkdirSync(dir("sys", "fs"), { recursive: true });
    symlinkSync(path("sysfs"), dir("sys", "fs", "btrfs"));
    const exec = () => Promise.reject(new Error("nothing is asked"));
    const read = (device: string) =>
      readRecords(
        {
          fileSystems: createFakeFileSystems([
            fakeFileSystem({ path: "/data", device, number: "0:30", type: "btrfs" }),
          ]),
          hostFiles: createHostFiles(dir()),
          exec,
        },
        signal,
      );
    for (const device of ["/dev/loop25", "/dev/loop26"])
      expect((await read(device)).mounted[0]?.[1]).toMatchObject({ errors: null, missingDevices: null, scrub: null });
    expect(judgeRecords(await read("/dev/loop25"), { ignore: [] }, Date.now())).toMatchObject({
      status: "skip",
      message: "What errors /data has is not known: the kernel does not say",
    });
  });
});

import { expect, it } from "vitest";
import { createFakeHostFiles } from "../../../../test/fakes/host-files.ts";
import type { CheckSettings } from "../check.ts";
import { fileDescriptorsCheck } from "./file-descriptors.ts";

const { signal } = new AbortController();

interface Process {
  readonly pid: number;
  readonly name: string;
  readonly open: number;
  readonly limit: number | string;
}

const limitsOf = (limit: number | string): string =>
  [
    "Limit                     Soft Limit           Hard Limit           Units     ",
    "Max processes             96120                96120                processes ",
    `Max open files            ${String(limit).padEnd(20)} 524288               files     `,
    "",
  ].join("\n");

/** /proc with these processes; as of Linux 6.2 if the size of a directory of files is their number. */
function procWith({ used = 1, maximum = "1000", processes = [] as readonly Process[], isCounted = true } = {}) {
  const files = processes.flatMap(({ pid, name, open, limit }) => [
    [`/proc/${pid}/comm`, `${name}\n`],
    [`/proc/${pid}/limits`, limitsOf(limit)],
    ...Array.from({ length: open }, (_, fd) => [`/proc/${pid}/fd/${fd}`, ""]),
  ]);
  return {
    "/proc/sys/fs/file-nr": `${used + 32}\t32\t${maximum}\n`,
    ...(isCounted && { "/proc/self/fd/0": "" }),
    ...Object.fromEntries(files),
  };
}

const leaky = (open: number): Process => ({ pid: 7, name: "leaky", open, limit: 1000 });
const runOn = (files: Readonly<Record<string, string>>, settings: Partial<CheckSettings> = {}) =>
  fileDescriptorsCheck({ hostFiles: createFakeHostFiles(files) }).run({ ignore: [], ...settings }, signal);
const run = (given: Parameters<typeof procWith>[0], settings: Partial<CheckSettings> = {}) =>
  runOn(procWith(given), settings);

it.each([true, false])(
  "file_descriptors lists the processes nearest to their limits (counted: %s)",
  async (isCounted) => {
    const files = procWith({
      isCounted,
      processes: [
        { pid: 7, name: "nginx", open: 60, limit: 1024 },
        { pid: 8, name: "leaky", open: 80, limit: 100 },
        { pid: 9, name: "quiet", open: 49, limit: 50 },
        { pid: 10, name: "free", open: 80, limit: "unlimited" },
      ],
    });
    const others = { "/proc/11/fd": "!EACCES", "/proc/12/fd": "!ESRCH", "/proc/13/comm": "ended\n" };
    const { details } = await runOn({ ...files, ...others }, { warn: 1, fail: 70 });
    expect(details["processes"]).toEqual([
      { pid: 8, name: "leaky", open: 80, limit: 100, percent_used: 80 },
      { pid: 7, name: "nginx", open: 60, limit: 1024, percent_used: 5.9 },
    ]);
  },
);

it.each([
  [699, "pass"],
  [700, "warn"],
  [899, "warn"],
  [900, "fail"],
] as const)("file_descriptors with %s of 1000 handles open in the system is %s", async (used, status) => {
  expect(await run({ used })).toMatchObject({ status, details: { percent_used: used / 10 } });
});

it.each([
  [699, "pass"],
  [700, "warn"],
  [900, "fail"],
] as const)("file_descriptors with %s of 1000 files open in a process is %s", async (open, status) => {
  expect(await run({ processes: [leaky(open), { ...leaky(1), pid: 8, name: "quiet" }] })).toMatchObject({ status });
});

it("file_descriptors names the process, takes thresholds, and passes without a limit", async () => {
  expect(await run({ processes: [leaky(950)] })).toEqual({
    status: "fail",
    message: "leaky (7) has 95 % of its files open: 950 of 1000 (LimitNOFILE=)",
    graded: { "leaky (7)": "fail" },
    details: {
      percent_used: 0.1,
      used: 1,
      maximum: 1000,
      processes: [{ pid: 7, name: "leaky", open: 950, limit: 1000, percent_used: 95 }],
    },
    thresholds: { percent_used: { warn: 70, fail: 90 } },
  });
  expect(await run({ used: 800 })).toMatchObject({
    message: "80 % of the file handles of the system are open: 800 of 1000",
  });
  expect(await run({ used: 5000, maximum: "9223372036854775807" })).toEqual({
    status: "pass",
    message: "No process is near its limit of open files",
    details: { percent_used: 0, used: 5000, maximum: null, processes: [] },
    thresholds: { percent_used: { warn: 70, fail: 90 } },
  });
  expect(await run({ processes: [leaky(500)] }, { warn: 10, fail: 50 })).toMatchObject({ status: "fail" });
  expect(await run({ processes: [leaky(999)] }, { ignore: ["leak*"] })).toMatchObject({ status: "pass" });
});

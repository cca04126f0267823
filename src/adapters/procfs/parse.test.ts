import { describe, expect, it } from "vitest";
import { parseCpuInfo, parseCpuMax, parseCpuTimes, parseMemory, parseSwap } from "./parse.ts";

describe("cpuinfo", () => {
  const block = (processor: number, physical: number, core: number) =>
    `processor\t: ${processor}\nmodel name\t: Fast CPU @ 3.00GHz\nphysical id\t: ${physical}\ncore id\t\t: ${core}\n`;

  it("counts cores once, whatever their threads, and is empty for an empty file", () => {
    const text = [block(0, 0, 0), block(1, 0, 1), block(2, 0, 0), block(3, 0, 1), block(4, 1, 0)].join("\n");
    expect(parseCpuInfo(text)).toEqual({ model: "Fast CPU @ 3.00GHz", cores: 3, threads: 5 });
    expect(parseCpuInfo("")).toEqual({ model: "", cores: 0, threads: 0 });
  });

  it("reads ARM boards, which name the machine at the end and no core ids", () => {
    const text =
      "processor\t: 0\nBogoMIPS\t: 108.00\n\nprocessor\t: 1\nBogoMIPS\t: 108.00\n\nHardware\t: BCM2835\nModel\t\t: Raspberry Pi 4 Model B Rev 1.4\n";
    expect(parseCpuInfo(text)).toEqual({ model: "Raspberry Pi 4 Model B Rev 1.4", cores: 2, threads: 2 });
  });

  it.each([
    {
      layout: "processors without an empty line between them",
      text: "processor : 0\nBogoMIPS : 243.75\nprocessor : 1\nBogoMIPS : 243.75\n",
      expected: { model: "", cores: 2, threads: 2 },
    },
    {
      layout: "the name of an ARM processor in a line of its own before the first",
      text: "Processor\t: ARMv7 Processor rev 2 (v7l)\nprocessor\t: 0\n\nprocessor\t: 1\n\nHardware\t: Some board\n",
      expected: { model: "ARMv7 Processor rev 2 (v7l)", cores: 2, threads: 2 },
    },
    {
      layout: "the name of an ARM processor beside each number",
      text: "processor : 0\nProcessor : ARMv7\nCPU revision : 4\n\nprocessor : 1\nProcessor : ARMv7\n",
      expected: { model: "ARMv7", cores: 2, threads: 2 },
    },
    {
      layout: "IBM Z: a line for each processor, then a block for each with its core",
      text: [
        "vendor_id       : IBM/S390\n# processors    : 2\nmax thread id   : 1",
        "processor 0: version = 00,  identification = 000001,  machine = 3906",
        "processor 1: version = 00,  identification = 000001,  machine = 3906\n",
        "cpu number      : 0\nphysical id     : 1\ncore id         : 0\n",
        "cpu number      : 1\nphysical id     : 1\ncore id         : 0\n",
      ].join("\n"),
      expected: { model: "IBM/S390 3906", cores: 1, threads: 2 },
    },
    {
      layout: "POWER: the processor before the machine",
      text: "processor\t: 0\ncpu\t\t: POWER9, altivec supported\n\nprocessor\t: 4\ncpu\t\t: POWER9, altivec supported\n\nmodel\t\t: 9006-12P\n",
      expected: { model: "POWER9, altivec supported", cores: 2, threads: 2 },
    },
    {
      layout: "RISC-V",
      text: "processor\t: 0\nhart\t\t: 1\nuarch\t\t: sifive,u74-mc\n",
      expected: { model: "sifive,u74-mc", cores: 1, threads: 1 },
    },
    {
      layout: "LoongArch: cores of two packages under names of its own",
      text: [0, 1, 2, 3]
        .map((at) => `processor : ${at}\npackage : ${at >> 1}\ncore : 0\nModel Name : Loongson-3A5000\n`)
        .join("\n"),
      expected: { model: "Loongson-3A5000", cores: 2, threads: 4 },
    },
  ])("reads other architectures: $layout", ({ text, expected }) => {
    expect(parseCpuInfo(text)).toEqual(expected);
  });
});

it("/proc/stat counts waiting for the disk as idle and guests once", () => {
  expect(parseCpuTimes("cpu  100 10 50 800 40 5 5 10 70 3\ncpu0 1 2 3 4\n")).toEqual({
    total: 1020,
    idle: 840,
    ioWait: 40,
  });
});

describe("meminfo", () => {
  it("has the available memory of the kernel, or an estimate on old kernels", () => {
    expect(parseMemory("MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    700 kB\n")).toEqual({
      totalBytes: 1_024_000,
      availableBytes: 716_800,
    });
    const text = "MemTotal:       1000 kB\nMemFree:         100 kB\nBuffers:          50 kB\nCached:          200 kB\n";
    expect(parseMemory(text).availableBytes).toBe(350 * 1024);
  });
});

it("meminfo has swap, or none", () => {
  expect(
    parseSwap("MemTotal: 1 kB\nSwapCached:        5 kB\nSwapTotal:      1000 kB\nSwapFree:        250 kB\n"),
  ).toEqual({
    swapTotalBytes: 1_024_000,
    swapFreeBytes: 256_000,
  });
  expect(parseSwap("MemTotal: 1 kB\n")).toEqual({ swapTotalBytes: 0, swapFreeBytes: 0 });
});

it("cgroup files: cpu.max is read", () => {
  expect(parseCpuMax("150000 100000\n")).toBe(1.5);
  expect(parseCpuMax("max 100000\n")).toBeUndefined();
  expect(parseCpuMax("")).toBeUndefined();
});

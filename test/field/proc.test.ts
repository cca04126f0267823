import { mkdirSync, symlinkSync } from "node:fs";
import { expect, it } from "vitest";
import { createHostFiles } from "#adapters/host-files/index.ts";
import { parseSwaps } from "#adapters/procfs/mount-table.ts";
import {
  parseCpuInfo,
  parseCpuTimes,
  parseDiskTraffic,
  parseLinkTraffic,
  parseLoad,
  parseMemory,
  parseSwap,
} from "#adapters/procfs/parse.ts";
import { parseProcessStat } from "#adapters/procfs/process-stat.ts";
import { parseIpv4Routes, parseIpv6Routes } from "#adapters/routes/index.ts";
import { parseIpv4, parseIpv6 } from "#adapters/routes/links.ts";
import { createListeningSockets } from "#adapters/sockets/index.ts";
import { parseSockets, states } from "#adapters/sockets/parse.ts";
import { conntrackCheck } from "#domain/health/checks/conntrack.ts";
import { fileDescriptorsCheck } from "#domain/health/checks/file-descriptors.ts";
import { pressureIn } from "#domain/health/checks/pressure.ts";
import { parseSwapTraffic } from "#domain/health/checks/swap-usage.ts";
import { directoryPerTest, writeFiles } from "../ports/support/directories.ts";
import { describeCases, uncovered } from "./cases.ts";

type Cpu = readonly [threads: number, cores: number, model: string];

/** Where a file names no cores, each processor counts as one. */
const processors: Readonly<Record<string, Cpu>> = {
  "arm-A510-A710-A715-X3": [8, 8, ""],
  armv7: [2, 2, "ARMv7 Processor rev 4 (v7l)"],
  "cadvisor-arm": [4, 4, "ARMv7 Processor rev 4 (v7l)"],
  "cadvisor-rpi4": [4, 4, "Raspberry Pi 4 Model B Rev 1.1"],
  "cadvisor-upper_case": [8, 8, "Loongson-3A R4 (Loongson-3B4000)"],
  "facter-powerpc": [4, 4, "POWER8 (raw), altivec supported"],
  "facter-wo_physical_id": [4, 4, "Intel(R) Xeon(R) CPU E5-2697 v4 @ 2.30GHz"],
  "gopsutil-issue1037": [8, 8, "ARMv7 Processor rev 4 (v7l)"],
  "insights-hetero": [2, 2, "Intel(R) Xeon(R) CPU E5-2670 0 @ 2.60GHz"],
  "insights-power7": [28, 28, "POWER7 (architected), altivec supported"],
  "loongarch-loongson_3a5000_hv": [4, 4, "Loongson-3A5000-HV"],
  "ohai-aarch64-graviton2": [2, 2, ""],
  "ohai-ppc64le-p9-host": [2, 2, "POWER9, altivec supported"],
  "ohai-s390x": [4, 4, "IBM/S390 8561"],
  "ohai-x86-guest-xen": [4, 1, "Intel(R) Xeon(R) CPU           L5520  @ 2.27GHz"],
  "ohai-x86-host-vuln": [4, 2, "Intel(R) Core(TM) i5-5200U CPU @ 2.20GHz"],
  "ppc-qemu": [1, 1, "740/750"],
  "ppc64-POWER7": [16, 16, "POWER7 (architected), altivec supported"],
  "procfs-x86-laptop": [8, 4, "Intel(R) Core(TM) i7-8650U CPU @ 1.90GHz"],
  "rv64-linux": [2, 2, "sifive,u74-mc"],
  "s390-kvm": [3, 3, "IBM/S390 2817"],
  "s390-lpar-drawer": [8, 8, "IBM/S390 2964"],
  "s390-zvm": [4, 4, "IBM/S390 2817"],
  "vbox-win": [2, 2, "Intel(R) Core(TM) i5-3317U CPU @ 1.70GHz"],
  "x86_64-64cpu-linux6.2": [8, 4, "11th Gen Intel(R) Core(TM) i7-1165G7 @ 2.80GHz"],
  "x86_64-dell_e4310": [4, 2, "Intel(R) Core(TM) i5 CPU       M 560  @ 2.67GHz"],
};

type MemoryKib = readonly [total: number, available: number, swapTotal: number, swapFree: number];

const memories: Readonly<Record<string, MemoryKib>> = {
  "facter-2": [4_037_608, 3_665_024, 0, 0],
  "gopsutil-i5": [16_115_528, 11_225_936, 8_065_020, 8_065_020],
  "gosysinfo-ubuntu1710": [4_042_048, 3_651_940, 1_048_572, 1_048_572],
  "insights-rhel6": [8_009_912, 6_820_236, 3_145_724, 3_136_352],
  "jc-ubuntu": [3_997_272, 3_386_876, 3_996_668, 3_996_668],
  // These kernels say nothing of available memory: free, buffers and cached.
  "node-exporter-no-available": [3_742_148, 225_472 + 22_040 + 930_888, 4_194_300, 3_155_360],
  "procfs-old": [15_666_184, 440_324 + 1_020_128 + 12_007_640, 0, 0],
  "telegraf-hugepages": [264_026_876, 260_015_468, 8_388_604, 8_388_604],
};

/** The words of the first line, without guests, which are in the first two already. */
const cpuTimes: Readonly<Record<string, readonly number[]>> = {
  fedora30: [31_608_779, 223_223, 15_924_288, 1_134_746_753, 223_880, 4_348_430, 1_995_355, 266_903],
  "node-exporter": [301_854, 612, 111_922, 8_979_004, 3_552, 2, 3_944, 0],
  procfs: [301_854, 612, 111_922, 8_979_004, 3_552, 2, 3_944, 0],
  telegraf: [110_686, 30, 36_048, 15_342_353, 6_731, 15_958, 3_621, 0],
};

const still = { avg10: 0, avg60: 0, avg300: 0 };
const pressures: Readonly<Record<string, object>> = {
  "node-exporter": {
    cpu: { some: still, full: still },
    memory: { some: still, full: still },
    io: { some: { avg10: 0.18, avg60: 0.34, avg300: 0.1 }, full: { avg10: 0.18, avg60: 0.34, avg300: 0.1 } },
  },
  procfs: {
    cpu: { some: { avg10: 0.1, avg60: 2, avg300: 3.85 }, full: null },
    memory: { some: { avg10: 0.1, avg60: 2, avg300: 3.85 }, full: { avg10: 0.2, avg60: 3, avg300: 4.95 } },
    io: { some: { avg10: 0.1, avg60: 2, avg300: 3.85 }, full: { avg10: 0.2, avg60: 3, avg300: 4.95 } },
  },
  telegraf: {
    cpu: { some: { avg10: 10, avg60: 60, avg300: 300 }, full: still },
    memory: { some: { avg10: 10, avg60: 60, avg300: 300 }, full: { avg10: 1, avg60: 6, avg300: 30 } },
    io: { some: { avg10: 10, avg60: 60, avg300: 300 }, full: { avg10: 1, avg60: 6, avg300: 30 } },
  },
};
const resources = ["cpu", "memory", "io"] as const;

/** Fields of proc_pid_stat(5). */
const processes: Readonly<Record<string, object>> = {
  "26231/stat": { pid: 26_231, name: "vim", state: "R", parentPid: 5392, cpuTicks: 1677 + 44, startTicks: 82_375 },
  // The resource limit is of no account here, which a 64-bit number would not hold.
  "26232/stat": { pid: 33, name: "ata_sff", state: "S", parentPid: 2, isKernelThread: true, startTicks: 5 },
  "584/stat": { pid: 1020, name: "(a b ) ( c d) ", state: "R", parentPid: 28_378, residentPages: 155 },
  "jc-pid_stat_hack": { pid: 2001, name: "bad) S 1 2 3 4 5", state: "S", parentPid: 1888, startTicks: 75_513 },
};

/** Averages of one and of fifteen minutes. */
const loads: Readonly<Record<string, readonly [number, number]>> = {
  facter: [0, 0.03],
  "node-exporter": [0.21, 0.39],
  ubuntu1710: [1.55, 1.73],
};

/** Sectors read and written, of disks whose lines have 14, 18 and 20 words. */
const disks: Readonly<Record<string, Readonly<Record<string, readonly [number, number]>>>> = {
  cadvisor: { sdc: [457_965, 9_824_537], "dm-1": [2_682_446_960, 543_988_240], ram0: [0, 0] },
  "node-exporter": {
    sda: [1_003_346_126, 505_697_032],
    nvme0n1: [4_643_973, 39_451_633],
    mmcblk0p2: [760, 0],
    sdb: [9_657_779, 1_972_905],
    sdc: [1_657_779, 172_905],
  },
};

/** Bytes received and sent. */
const links: Readonly<Record<string, object>> = {
  "dev-jc": { lo: [13_222, 13_222], ens33: [60_600_053, 44_256_546] },
  "procfs-dev": {
    vethf345468: [648, 438],
    lo: [1_664_039_048, 1_664_039_048],
    docker0: [2568, 438],
    eth0: [874_354_587, 563_352_563],
  },
};

const unread = {
  "net/procfs-sockstat": "sockets are counted by nobody",
  "net/procfs-unix": "only the sockets of the service and of container engines are looked for, of which it has none",
  "net/unix-jc": "only the sockets of the service and of container engines are looked for, of which it has none",
  "pressure/node-exporter/irq": "time that interrupts take is no work that waits",
};

describeCases("proc", ({ path, text, files }) => {
  const dir = directoryPerTest();

  it("every file is read below or has a reason why not", () => {
    const inFolder = (folder: string, names: object): readonly string[] =>
      Object.keys(names).map((name) => `${folder}/${name}`);
    const read = [
      ...inFolder("cpuinfo", processors),
      ...inFolder("meminfo", memories),
      ...inFolder("stat", cpuTimes),
      ...inFolder("loadavg", loads),
      ...inFolder("diskstats", disks),
      ...inFolder("net", links),
      ...Object.keys(pressures).flatMap((folder) => resources.map((each) => `pressure/${folder}/${each}`)),
      ...inFolder("pid", processes),
      ...["26231", "26232"].flatMap((pid) => [`pid/${pid}/comm`, `pid/${pid}/limits`]),
      ...["26231", "26235"].map((pid) => `pid/${pid}/status`),
      ...["route-empty", "route-jc", "route-plain", "ipv6_route-jc"].map((name) => `net/${name}`),
      ...["procfs-tcp", "procfs-tcp6", "procfs-udp6", "tcp-jc"].map((name) => `net/${name}`),
      ...["swaps/node-exporter", "sys/fs/file-nr", "vmstat/node-exporter", "vmstat/ubuntu1710"],
      ...["count", "max"].map((name) => `sys/net/netfilter/nf_conntrack_${name}`),
    ];
    expect(uncovered(files(), { read, unread })).toEqual([]);
  });

  it.each(Object.entries(processors))("cpuinfo %s: processors, cores and model", (file, [threads, cores, model]) => {
    expect(parseCpuInfo(text("cpuinfo", file))).toEqual({ threads, cores, model });
  });

  it.each(Object.entries(memories))("meminfo %s: memory and swap", (file, kib) => {
    const [totalBytes, availableBytes, swapTotalBytes, swapFreeBytes] = kib.map((each) => each * 1024);
    const said = text("meminfo", file);
    expect(parseMemory(said)).toEqual({ totalBytes, availableBytes });
    expect(parseSwap(said)).toEqual({ swapTotalBytes, swapFreeBytes });
  });

  it.each(Object.entries(cpuTimes))("stat %s: time of all processors and idle time", (file, words) => {
    const [, , , idle = 0, ioWait = 0] = words;
    const total = words.reduce((sum, each) => sum + each, 0);
    expect(parseCpuTimes(text("stat", file))).toEqual({ total, idle: idle + ioWait, ioWait });
  });

  it.each(Object.entries(loads))("loadavg %s: averages of one and of fifteen minutes", (file, [one, fifteen]) => {
    expect(parseLoad(text("loadavg", file))).toEqual({ oneMinute: one, fifteenMinutes: fifteen });
  });

  it.each(Object.entries(disks))("diskstats %s: bytes of every device, by kernels of each age", (file, sectors) => {
    const said = text("diskstats", file);
    const found = parseDiskTraffic(said);
    expect(found.size).toBe(said.trim().split("\n").length);
    for (const [name, [read, written]] of Object.entries(sectors))
      expect([name, found.get(name)]).toEqual([name, [read * 512, written * 512]]);
  });

  it.each(Object.entries(links))("net %s: bytes of every link", (file, bytes) => {
    expect(Object.fromEntries(parseLinkTraffic(text("net", file)))).toEqual(bytes);
  });

  it("vmstat: pages swapped in and out", () => {
    expect(parseSwapTraffic(text("vmstat/node-exporter"))).toBe(1476 + 35_045);
    expect(parseSwapTraffic(text("vmstat/ubuntu1710"))).toBe(0);
  });

  it("the table of connections: used and at most", async () => {
    symlinkSync(path(""), dir("proc"));
    const check = conntrackCheck({ hostFiles: createHostFiles(dir()) });
    const { details } = await check.run({ ignore: [] }, new AbortController().signal);
    expect(details).toMatchObject({ entries: 123, maximum: 65_536 });
  });

  it("swaps: the one device", () => {
    const [kib, used] = [8_388_604, 76].map((each) => each * 1024);
    expect(parseSwaps(text("swaps/node-exporter"))).toEqual([
      { path: "/dev/zram0", type: "partition", sizeBytes: kib, usedBytes: used, priority: 100 },
    ]);
  });

  it.each(Object.entries(pressures))(
    "pressure %s: each resource, without what an older kernel does not measure",
    async (folder, expected) => {
      for (const each of resources) writeFiles(dir(), { [`proc/pressure/${each}`]: text("pressure", folder, each) });
      const found = (await pressureIn(createHostFiles(dir()))) ?? [];
      expect(Object.fromEntries(found.map(({ resource, ...stalls }) => [resource, stalls]))).toEqual(expected);
    },
  );

  it.each(Object.entries(processes))("the process %s: its name in the outermost brackets", (file, expected) => {
    expect(parseProcessStat(text("pid", file))).toMatchObject(expected);
  });

  it("file-nr and limits: open files are compared with the soft one, those of all with the maximum", async () => {
    const open = 60;
    writeFiles(dir(), { "proc/sys/fs/file-nr": text("sys/fs/file-nr") });
    for (const pid of ["26231", "26232"]) {
      for (const name of ["comm", "limits"]) writeFiles(dir(), { [`proc/${pid}/${name}`]: text("pid", pid, name) });
      for (let fd = 0; fd < open; fd += 1) writeFiles(dir(), { [`proc/${pid}/fd/${fd}`]: "" });
    }
    const check = fileDescriptorsCheck({ hostFiles: createHostFiles(dir()) });
    const { details } = await check.run({ ignore: [], warn: 1 }, new AbortController().signal);
    expect(details).toMatchObject({ used: 1024, maximum: 1_631_329 });
    expect(details["processes"]).toEqual([
      { pid: 26_232, name: "ata_sff", open, limit: 1024, percent_used: 5.9 },
      { pid: 26_231, name: "vim", open, limit: 2048, percent_used: 2.9 },
    ]);
  });

  it("status: which process systemd has started", async () => {
    for (const pid of ["26231", "26235"]) {
      writeFiles(dir(), { [`${pid}/status`]: text("pid", pid, "status"), [`${pid}/comm`]: "program\n" });
      mkdirSync(dir(pid, "fd"));
      symlinkSync(`socket:[${pid}]`, dir(pid, "fd", "3"));
    }
    const owners = await createListeningSockets(dir()).owners([26_231, 26_235]);
    expect([...owners].map(([inode, { isMain }]) => [inode, isMain])).toEqual([
      [26_231, true],
      [26_235, false],
    ]);
  });

  it("route: default routes and networks, addresses in the byte order of the machine", () => {
    expect(parseIpv4Routes(text("net/route-empty"))).toEqual([]);
    expect(parseIpv4Routes(text("net/route-jc"))).toEqual([{ interface: "ens33", gateway: "192.168.71.2" }]);
    expect(parseIpv4Routes(text("net/route-plain"))).toEqual([{ interface: "ens160", gateway: "10.16.112.1" }]);
    const routes = (file: string) =>
      parseIpv4(text("net", file)).map(({ destination, gateway, link, metric }) => [
        destination,
        gateway,
        link,
        metric,
      ]);
    expect(routes("route-empty")).toEqual([]);
    expect(routes("route-plain")).toEqual([
      ["default", "10.16.112.1", "ens160", 0],
      ["10.16.112.0/20", null, "ens160", 0],
    ]);
    expect(routes("route-jc")).toEqual([
      ["default", "192.168.71.2", "ens33", 100],
      ["192.168.71.0/24", null, "ens33", 0],
      ["192.168.71.2/32", null, "ens33", 100],
    ]);
  });

  it("ipv6_route: the kernel's own refusal of the rest is no default route", () => {
    const said = text("net/ipv6_route-jc");
    expect(parseIpv6Routes(said)).toEqual([]);
    expect(parseIpv6(said).map(({ destination, link, type }) => [destination, link, type])).toEqual([
      ["::1/128", "lo", "unicast"],
      ["fe80::/64", "ens33", "unicast"],
    ]);
  });

  it("tcp and udp: those that listen, and UDP without a peer", () => {
    const sockets = (file: string, state: keyof typeof states) =>
      parseSockets(text("net", file), states[state]).map(({ address, port, uid, inode }) => [
        address,
        port,
        uid,
        inode,
      ]);
    expect(sockets("procfs-tcp", "listen").map(([address, port]) => [address, port])).toEqual([
      ["10.0.0.5", 22],
      ["0.0.0.0", 22],
      ["0.0.0.0", 22],
    ]);
    expect(sockets("tcp-jc", "listen")).toEqual([
      ["127.0.0.53", 53, 101, 34_000],
      ["127.0.0.1", 35_303, 1000, 140_054],
      ["127.0.0.1", 631, 0, 34_523],
      ["0.0.0.0", 22, 0, 23_459],
    ]);
    const udp = [
      ["::", 5355, 981, 21_040],
      ["fe80::56e1:adff:fe7c:6609", 51_073, 1000, 11_337_031],
    ];
    expect(sockets("procfs-udp6", "close")).toEqual(udp);
    // The file of its name has the lines of UDP: nothing in it listens.
    expect(sockets("procfs-tcp6", "listen")).toEqual([]);
    expect(sockets("procfs-tcp6", "close")).toEqual(udp);
  });
});

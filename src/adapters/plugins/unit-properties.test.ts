import { describe, expect, it } from "vitest";
import type { PluginCall, PluginPermissions } from "#domain/ports/plugins.ts";
import { unitProperties } from "./unit-properties.ts";

const callWith = (permissions: Partial<PluginPermissions>): PluginCall => ({
  manifest: {
    name: "one",
    version: "1",
    author: "",
    description: "",
    command: ["/etc/steward/plugins/one/run"],
    timeoutMs: 10_000,
    permissions: {
      user: undefined,
      network: "none",
      read: [],
      write: [],
      memoryBytes: 2 ** 28,
      tasks: 8,
      ...permissions,
    },
    role: { type: "command", usage: undefined },
  },
  path: "/etc/steward/plugins/one",
  digest: "0".repeat(64),
  args: [],
  stdin: undefined,
});
const place = {
  ends: "/run/ends",
  hidden: ["/var/lib/steward"],
  boundsMemory: true,
  topFolders: ["/etc", "/var"],
  topFiles: ["/swapfile"],
};
const propertiesOf = (permissions: Partial<PluginPermissions>, boundsMemory = true): readonly string[] =>
  unitProperties("unit", callWith(permissions), { ...place, boundsMemory });

describe("properties of a unit", () => {
  it("hide the state folder and bound time, memory and processes whatever is asked for", () => {
    for (const permissions of [{}, { user: "root" as const }, { read: ["/"] }, { write: ["/srv"] }]) {
      expect(propertiesOf(permissions)).toEqual(
        expect.arrayContaining([
          "InaccessiblePaths=-/var/lib/steward",
          "NoNewPrivileges=yes",
          "KillMode=control-group",
          "RuntimeMaxSec=25000ms",
          "MemoryMax=268435456",
          "MemorySwapMax=0",
          "TasksMax=8",
          "PrivateNetwork=yes",
        ]),
      );
    }
  });

  it("give a user of its own unless root is asked for", () => {
    expect(propertiesOf({})).toContain("DynamicUser=yes");
    expect(propertiesOf({ user: "root" })).not.toContain("DynamicUser=yes");
    expect(propertiesOf({})).toContain("CapabilityBoundingSet=");
  });

  it("give a capability only with a view of its own", () => {
    const views = (permissions: Partial<PluginPermissions>) =>
      propertiesOf(permissions).filter((each) => /^(AmbientCapabilities|TemporaryFileSystem=\/run)/.test(each));
    expect(views({})).toEqual([]);
    expect(views({ read: ["/srv/a"] })).toEqual([
      "TemporaryFileSystem=/run:ro /etc:ro /var:ro",
      "AmbientCapabilities=CAP_DAC_READ_SEARCH",
    ]);
    expect(views({ write: ["/srv/a"] })).toEqual([
      "TemporaryFileSystem=/run:ro /etc:ro /var:ro",
      "AmbientCapabilities=CAP_DAC_READ_SEARCH CAP_DAC_OVERRIDE",
    ]);
    expect(views({ user: "root", read: ["/srv/a"] })).toEqual([]);
  });

  it("hide all that is not asked for from who has a capability, files in / too", () => {
    const hiddenFrom = (permissions: Partial<PluginPermissions>) =>
      propertiesOf(permissions).filter((each) => each.startsWith("InaccessiblePaths="));
    const kernel = [
      "/sys/firmware",
      "/sys/fs/bpf",
      "/sys/fs/pstore",
      "/sys/kernel/debug",
      "/sys/kernel/security",
      "/sys/kernel/tracing",
      "/dev/hugepages",
    ];
    expect(hiddenFrom({ network: "full" })).toEqual(["InaccessiblePaths=-/var/lib/steward"]);
    expect(hiddenFrom({ network: "full", read: ["/srv/a"] })).toEqual(
      ["/run/ends", "/swapfile", ...kernel, "/var/lib/steward"].map((path) => `InaccessiblePaths=-${path}`),
    );
    expect(propertiesOf({ read: ["/srv/a"] })).toContain("TemporaryFileSystem=/dev/pts:ro");
  });

  it("keep the bus from who asks for no network", () => {
    const bus = "InaccessiblePaths=-/run/dbus/system_bus_socket";
    expect(propertiesOf({})).toContain(bus);
    expect(propertiesOf({ network: "local" })).not.toContain(bus);
  });

  it("bound what is written unasked, and let others go first", () => {
    expect(propertiesOf({})).toEqual(
      expect.arrayContaining([
        "WorkingDirectory=/",
        "TemporaryFileSystem=/dev/shm:size=64M,nr_inodes=4096,mode=1777,nosuid,nodev",
        "ReadOnlyPaths=-/tmp",
        "ReadOnlyPaths=-/var/tmp",
        "CPUWeight=20",
        "IOWeight=20",
      ]),
    );
    expect(propertiesOf({ user: "root" })).toContain("WorkingDirectory=/");
  });

  it("bound each process where the unit as a whole cannot be bounded", () => {
    expect(propertiesOf({}, true).filter((each) => each.startsWith("LimitDATA"))).toEqual([]);
    expect(propertiesOf({}, false)).toContain("LimitDATA=268435456");
  });

  it("open the network as far as it is asked for", () => {
    const of = (network: PluginPermissions["network"]) =>
      propertiesOf({ network }).filter((each) => /Network|Address/.test(each));
    expect(of("none")).toEqual(["RestrictAddressFamilies=AF_UNIX", "PrivateNetwork=yes"]);
    expect(of("local")).toEqual([
      "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6",
      "IPAddressDeny=any",
      "IPAddressAllow=localhost",
    ]);
    expect(of("full")).toEqual(["RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK"]);
  });
});

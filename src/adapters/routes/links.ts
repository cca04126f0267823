import { readdir, readFile, readlink } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Exec } from "#adapters/exec/index.ts";
import { readTextOrEmpty } from "#adapters/files/index.ts";
import { type Link, type Links, NetworkUnavailable, type Route } from "#domain/ports/network-state.ts";
import { orUndefined } from "#kernel/errors.ts";
import { readAddresses } from "./addresses.ts";
import { rowsOf, toIpv6 } from "./index.ts";

/** Flags of a link, include/uapi/linux/if.h. */
const linkIsUp = 0x1;
/** Types of links, include/uapi/linux/if_arp.h. */
const kinds: Readonly<Record<string, string>> = { "1": "ether", "772": "loopback", "65534": "none" };

/** The kernel says EINVAL for what a link does not have, or has not while it is down. */
const valueIn = async (path: string): Promise<string> =>
  (await orUndefined(readFile(path, "utf8"), () => true))?.trim() ?? "";

async function readLink(directory: string, name: string, addresses: Link["addresses"] = []): Promise<Link> {
  const names = ["operstate", "flags", "carrier", "mtu", "address", "speed", "type", "uevent"] as const;
  const values = await Promise.all(names.map((each) => valueIn(join(directory, name, each))));
  const [state = "", flags, carrier, mtu, mac = "", speed, type = "", uevent = ""] = values;
  const master = await orUndefined(readlink(join(directory, name, "master")), () => true);
  const mbps = Number(speed);
  return {
    name,
    kind: /^DEVTYPE=(.+)$/m.exec(uevent)?.[1] ?? kinds[type] ?? "other",
    state: state || "unknown",
    isUp: (Number(flags) & linkIsUp) !== 0,
    hasCarrier: carrier === "1",
    mtu: Number(mtu),
    mac: /^(00:)*00$/.test(mac) || mac === "" ? null : mac,
    speedMbps: Number.isSafeInteger(mbps) && mbps > 0 ? mbps : null,
    master: master === undefined ? null : basename(master),
    addresses,
  };
}

/** Flags of a route, include/uapi/linux/route.h and ipv6_route.h. */
const flags = { up: 0x1, gateway: 0x2, reject: 0x200, anycast: 0x0010_0000, local: 0x8000_0000 } as const;

const numberOf = (hex: string): number => (/^[0-9A-Fa-f]{1,8}$/.test(hex) ? Number.parseInt(hex, 16) : Number.NaN);
const has = (bits: number, flag: number): boolean => (bits & flag) !== 0;

/** The kernel prints 32-bit numbers in the byte order of the machine, little-endian on what Node runs on. */
const toIpv4 = (value: number): string => [0, 8, 16, 24].map((shift) => (value >>> shift) & 0xff).join(".");

function prefixOf(mask: number): number {
  let bits = 0;
  for (let rest = mask >>> 0; rest !== 0; rest &= rest - 1) bits += 1;
  return bits;
}

interface RouteRow {
  readonly family: Route["family"];
  readonly network: string;
  readonly prefix: number;
  readonly gateway: string;
  readonly bits: number;
  readonly metric: number;
  readonly name: string;
}

function toRoute({ family, network, prefix, gateway, bits, metric, name }: RouteRow): Route {
  const goesNowhere = has(bits, flags.reject) || name === "*";
  return {
    family,
    destination: prefix === 0 ? "default" : `${network}/${prefix}`,
    type: goesNowhere ? "unreachable" : "unicast",
    gateway: has(bits, flags.gateway) ? gateway : null,
    link: goesNowhere ? null : name,
    metric,
  };
}

/** /proc/net/route, the main table: `Iface Destination Gateway Flags RefCnt Use Metric Mask …`. */
export function parseIpv4(text: string): readonly Route[] {
  return rowsOf(text)
    .slice(1)
    .flatMap(([name = "", network = "", gateway = "", bits = "", , , metric = "", mask = ""]) => {
      const [to, through, flag, bitMask] = [network, gateway, bits, mask].map(numberOf);
      if (to === undefined || through === undefined || flag === undefined || bitMask === undefined) return [];
      if (![to, through, flag, bitMask, Number(metric)].every(Number.isFinite) || !has(flag, flags.up)) return [];
      return toRoute({
        ...{ family: "ipv4", network: toIpv4(to), prefix: prefixOf(bitMask), gateway: toIpv4(through) },
        ...{ bits: flag, metric: Number(metric), name },
      });
    });
}

const isHex = (text: string): boolean => /^[0-9a-f]{32}$/i.test(text);

/** /proc/net/ipv6_route, without the host's own addresses and multicast: `destination length source length hop metric … flags device`. */
export function parseIpv6(text: string): readonly Route[] {
  return rowsOf(text).flatMap(([network = "", length = "", , , hop = "", metric = "", , , bits = "", name = ""]) => {
    const [prefix, rank, flag] = [length, metric, bits].map(numberOf);
    if (prefix === undefined || rank === undefined || flag === undefined || !isHex(network) || !isHex(hop)) return [];
    if (![prefix, rank, flag].every(Number.isFinite) || prefix > 128 || !has(flag, flags.up)) return [];
    const isOwn = has(flag, flags.local) || has(flag, flags.anycast) || network.toLowerCase().startsWith("ff");
    // A host without a route for the rest has one that refuses, which is the kernel's own.
    if (isOwn || (has(flag, flags.reject) && rank === 0xffff_ffff)) return [];
    const row = { family: "ipv6", network: toIpv6(network), prefix, gateway: toIpv6(hop) } as const;
    return toRoute({ ...row, bits: flag, metric: rank, name });
  });
}

/** Links and routes in files of the kernel, addresses as `ip` has them, which no file has. @param ports.exec without it Node gives the addresses. */
export function createLinks(ports: { sysDir?: string; procNet?: string; exec?: Exec } = {}): Links {
  const { sysDir = "/sys", procNet = "/proc/net", exec } = ports;
  const directory = join(sysDir, "class/net");
  return {
    async links() {
      const names = await orUndefined(readdir(directory));
      if (names === undefined)
        throw new NetworkUnavailable(`there is no ${directory}`, { missing: directory, retryable: false });
      const addresses = await readAddresses(exec);
      const isLink = async (name: string): Promise<boolean> => (await valueIn(join(directory, name, "ifindex"))) !== "";
      const links = await Promise.all(names.map(async (name) => ((await isLink(name)) ? [name] : [])));
      return Promise.all(
        links
          .flat()
          .toSorted()
          .map((name) => readLink(directory, name, addresses.get(name))),
      );
    },
    async routes() {
      const [ipv4, ipv6] = await Promise.all(
        ["route", "ipv6_route"].map((name) => readTextOrEmpty(join(procNet, name))),
      );
      return [...parseIpv4(ipv4 ?? ""), ...parseIpv6(ipv6 ?? "")];
    },
  };
}

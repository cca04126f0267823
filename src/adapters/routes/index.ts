import { networkInterfaces } from "node:os";
import { readTextOrEmpty } from "#adapters/files/index.ts";
import type { DefaultRoute, DefaultRoutes } from "#domain/ports/network.ts";

/** Flags of a route, include/uapi/linux/route.h. */
const flags = { up: 0x1, gateway: 0x2, reject: 0x200 } as const;
export type ParsedRoute = Pick<DefaultRoute, "interface" | "gateway">;

/** The default route of a row; none where it is not in use, or refuses. */
function routeOf(name: string, hexFlags: string, gateway: () => string): readonly ParsedRoute[] {
  const bits = Number.parseInt(hexFlags, 16);
  if ((bits & flags.up) === 0 || (bits & flags.reject) !== 0) return [];
  return [{ interface: name, gateway: (bits & flags.gateway) === 0 ? null : gateway() }];
}

export const rowsOf = (text: string): readonly (readonly string[])[] =>
  text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => line.trim().split(/\s+/));

const toIpv4 = (hex: string): string =>
  (hex.match(/../g) ?? [])
    .map((byte) => Number.parseInt(byte, 16))
    .reverse()
    .join(".");

export const toIpv6 = (hex: string): string => {
  const groups = (hex.match(/.{4}/g) ?? []).map((group) => Number.parseInt(group, 16).toString(16));
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
};

/** Default routes of /proc/net/route: `Iface Destination Gateway Flags RefCnt Use Metric Mask …`. */
export function parseIpv4Routes(text: string): readonly ParsedRoute[] {
  return rowsOf(text)
    .slice(1)
    .flatMap(([name = "", destination, gateway = "", bits = "", , , , mask]) =>
      destination === "00000000" && mask === "00000000" ? routeOf(name, bits, () => toIpv4(gateway)) : [],
    );
}

/** Default routes of /proc/net/ipv6_route: `destination length source length next-hop metric refcount use flags device`. */
export function parseIpv6Routes(text: string): readonly ParsedRoute[] {
  return rowsOf(text).flatMap(([destination = "", length, , , hop = "", , , , bits = "", name = ""]) =>
    /^0{32}$/.test(destination) && length === "00" ? routeOf(name, bits, () => toIpv6(hop)) : [],
  );
}

async function isUp(name: string): Promise<boolean> {
  if (Object.hasOwn(networkInterfaces(), name)) return true;
  return ["up", "unknown"].includes((await readTextOrEmpty(`/sys/class/net/${name}/operstate`)).trim());
}

export function createDefaultRoutes(procNet = "/proc/net"): DefaultRoutes {
  return {
    async list() {
      const [ipv4, ipv6] = await Promise.all([
        readTextOrEmpty(`${procNet}/route`),
        readTextOrEmpty(`${procNet}/ipv6_route`),
      ]);
      const routes = [
        ...parseIpv4Routes(ipv4).map((route) => ({ ...route, family: "ipv4" as const })),
        ...parseIpv6Routes(ipv6).map((route) => ({ ...route, family: "ipv6" as const })),
      ];
      return Promise.all(routes.map(async (route) => ({ ...route, isUp: await isUp(route.interface) })));
    },
  };
}

import { createSocket } from "node:dgram";
import { networkInterfaces } from "node:os";
import { readTextOrEmpty } from "#adapters/files/index.ts";
import type { DefaultRoute, DefaultRoutes } from "#domain/ports/network.ts";

/** Flags of a route, include/uapi/linux/route.h. */
const flags = { up: 0x1, gateway: 0x2, reject: 0x200 } as const;
export type ParsedRoute = Pick<DefaultRoute, "interface" | "gateway">;

/** The default route of a row; none where it is not in use, or refuses. */
function routeOf(name: string, hexFlags: string, gateway: () => string): readonly ParsedRoute[] {
  const bits = Number.parseInt(hexFlags, 16);
  // A blackhole of IPv4 has no interface, and no flag that says so.
  if ((bits & flags.up) === 0 || (bits & flags.reject) !== 0 || name === "*") return [];
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

/** An address in each half of what there is: a VPN may have a route for each half in place of a default route. Nothing is sent there. */
const farAway = {
  udp4: ["1.1.1.1", "198.41.0.4"],
  udp6: ["2001:500:2::c", "2a00:1450::1"],
} as const;

/** The address from which the kernel would send to another; undefined where its rules and tables lead nowhere. */
function sourceTowards(type: "udp4" | "udp6", address: string): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const socket = createSocket(type);
  // Of UDP a connection is no more than that the kernel looks up the way.
  socket.connect(53, address, (error?: Error) => {
    resolve(error === undefined ? socket.address().address : undefined);
    socket.close();
  });
  return promise;
}

/** The way out that the kernel finds where the main table has no default route: by half routes, or another table that a rule names. */
async function wayOut(family: DefaultRoute["family"]): Promise<readonly DefaultRoute[]> {
  const type = family === "ipv4" ? "udp4" : "udp6";
  const [source, other] = await Promise.all(farAway[type].map((address) => sourceTowards(type, address)));
  if (source === undefined || other === undefined) return [];
  const found = Object.entries(networkInterfaces()).find(([, addresses]) =>
    addresses?.some(({ address }) => address === source),
  );
  return found === undefined ? [] : [{ family, interface: found[0], gateway: null, isUp: true }];
}

/** @param ask what the kernel finds where the files have no default route of a family. */
export function createDefaultRoutes(procNet = "/proc/net", ask = wayOut): DefaultRoutes {
  return {
    async list() {
      const [ipv4, ipv6] = await Promise.all([
        readTextOrEmpty(`${procNet}/route`),
        readTextOrEmpty(`${procNet}/ipv6_route`),
      ]);
      const parsed = { ipv4: parseIpv4Routes(ipv4), ipv6: parseIpv6Routes(ipv6) };
      const all = await Promise.all(
        (["ipv4", "ipv6"] as const).map((family) =>
          parsed[family].length === 0
            ? ask(family)
            : Promise.all(
                parsed[family].map(async (route) => ({ ...route, family, isUp: await isUp(route.interface) })),
              ),
        ),
      );
      return all.flat();
    },
  };
}

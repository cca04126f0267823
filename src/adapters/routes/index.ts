import { readFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import type { DefaultRoutes } from "#domain/ports/network.ts";
import { orUndefined } from "#kernel/errors.ts";
import { parseIpv4Routes, parseIpv6Routes } from "./parse.ts";

/** The text of a file; empty where the kernel has no such thing, such as IPv6. */
const readText = async (path: string): Promise<string> => (await orUndefined(readFile(path, "utf8"))) ?? "";

/** Interfaces without an address are missing in the list of those that run; sysfs knows them. */
async function isUp(name: string): Promise<boolean> {
  if (Object.hasOwn(networkInterfaces(), name)) return true;
  return ["up", "unknown"].includes((await readText(`/sys/class/net/${name}/operstate`)).trim());
}

export function createDefaultRoutes(procNet = "/proc/net"): DefaultRoutes {
  return {
    async list() {
      const [ipv4, ipv6] = await Promise.all([readText(`${procNet}/route`), readText(`${procNet}/ipv6_route`)]);
      const routes = [
        ...parseIpv4Routes(ipv4).map((route) => ({ ...route, family: "ipv4" as const })),
        ...parseIpv6Routes(ipv6).map((route) => ({ ...route, family: "ipv6" as const })),
      ];
      return Promise.all(routes.map(async (route) => ({ ...route, isUp: await isUp(route.interface) })));
    },
  };
}

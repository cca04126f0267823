import { networkInterfaces } from "node:os";
import { runCommand } from "../test/host/commands.ts";

/** A link between this machine and the guest, and nothing beyond: nothing is forwarded. */
export interface DemoNetwork {
  /** Number of the demo on this machine; nobody else has it while the link is there. */
  readonly number: number;
  readonly address: string;
  /** Makes the link; the kernel removes it with the namespace of the guest. */
  readonly attach: (leader: number) => Promise<void>;
}

const mostDemos = 64;
/** A part of 10.0.0.0/8 that is rarely used; one with an address of this machine's own is left alone. */
const subnetOf = (number: number) => `10.213.${number}`;

const linkOf = (number: number): string => `steward-demo${number}`;

function isTaken(number: number): boolean {
  const all = Object.entries(networkInterfaces());
  const inSubnet = all.some(([, list = []]) => list.some((each) => each.address.startsWith(`${subnetOf(number)}.`)));
  return inSubnet || all.some(([name]) => name === linkOf(number));
}

async function makeLink(number: number, leader: number): Promise<void> {
  const link = linkOf(number);
  const inside = (argv: readonly string[]) => runCommand(["nsenter", "-t", String(leader), "-n", "--", ...argv]);
  await runCommand(["ip", "link", "add", link, "type", "veth", "peer", "name", "host0", "netns", String(leader)]);
  await runCommand(["ip", "address", "add", `${subnetOf(number)}.1/30`, "dev", link]);
  await runCommand(["ip", "link", "set", link, "up"]);
  await inside(["ip", "address", "add", `${subnetOf(number)}.2/30`, "dev", "host0"]);
  await inside(["ip", "link", "set", "host0", "up"]);
  // Leads nowhere: this machine does not forward it. A host without a way out would be one more thing that is wrong.
  await inside(["ip", "route", "add", "default", "via", `${subnetOf(number)}.1`]);
}

/** @returns the first network that this machine has no address in. */
export function freeNetwork(isFree: (number: number) => boolean): DemoNetwork {
  for (let number = 0; number < mostDemos; number += 1) {
    if (isTaken(number) || !isFree(number)) continue;
    return { number, address: `${subnetOf(number)}.2`, attach: (leader) => makeLink(number, leader) };
  }
  throw new Error(
    `cannot find a free network: this machine has addresses in all of ${subnetOf(0)} to ${subnetOf(mostDemos - 1)}`,
  );
}

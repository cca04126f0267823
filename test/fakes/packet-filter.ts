import type { InputChain, PacketFilter } from "#domain/ports/network.ts";

/** A chain that lets everything through. */
export const fakeInputChain = (given: Partial<InputChain> = {}): InputChain => ({
  families: ["ipv4", "ipv6"],
  table: "filter",
  name: "input",
  policy: "accept",
  isRefusing: false,
  ...given,
});

/** These chains, and these reasons why there may be others. */
export const createFakePacketFilter = (
  chains: readonly InputChain[],
  unreadable: readonly string[] = [],
): PacketFilter => ({ inputChains: () => Promise.resolve({ chains, unreadable }) });

import type { ListeningSockets, OpenPort } from "#domain/ports/network.ts";

/** A web server that is reached over IPv4. */
export const fakeOpenPort = (given: Partial<OpenPort> = {}): OpenPort => ({
  protocol: "tcp",
  port: 80,
  address: "0.0.0.0",
  families: ["ipv4"],
  inode: 4711,
  ...given,
});

/** These ports, and these programs by the number of their socket. */
export const createFakeListeningSockets = (
  open: readonly OpenPort[],
  programs: Readonly<Record<number, string>> = {},
): ListeningSockets => ({
  open: () => Promise.resolve(open),
  listening: () =>
    Promise.resolve(
      open.map(({ protocol, port, address, inode }) => ({ protocol, port, address, inode, isLoopback: false })),
    ),
  owners: (inodes) =>
    Promise.resolve(
      new Map(
        inodes.flatMap((inode) => {
          const program = programs[inode];
          return program === undefined ? [] : [[inode, program]];
        }),
      ),
    ),
});

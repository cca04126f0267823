import type { ListeningSockets, OpenPort, SocketOwner } from "#domain/ports/network.ts";

/** A web server that is reached over IPv4. */
export const fakeOpenPort = (given: Partial<OpenPort> = {}): OpenPort => ({
  protocol: "tcp",
  port: 80,
  address: "0.0.0.0",
  families: ["ipv4"],
  inode: 4711,
  ...given,
});

/** The main process of a service. */
export const fakeSocketOwner = (program: string): SocketOwner => ({
  program,
  unit: `${program}.service`,
  isMain: true,
});

/** These ports, and these programs or owners by the number of their socket; those from 32768 on may be given out by the kernel. */
export const createFakeListeningSockets = (
  open: readonly OpenPort[],
  programs: Readonly<Record<number, string | SocketOwner>> = {},
): ListeningSockets => ({
  open: () => Promise.resolve(open),
  listening: () =>
    Promise.resolve(
      open.map(({ protocol, port, address, inode }) => {
        return { protocol, port, address, inode, isLoopback: false, mayBeGivenOut: port >= 32_768 };
      }),
    ),
  owners: (inodes) =>
    Promise.resolve(
      new Map(
        inodes.flatMap((inode) => {
          const program = programs[inode];
          if (program === undefined) return [];
          return [[inode, typeof program === "string" ? fakeSocketOwner(program) : program] as const];
        }),
      ),
    ),
});

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Conntrack } from "#domain/ports/kernel.ts";
import { orUndefined } from "#kernel/errors.ts";

export function createConntrack(ports: { procDir?: string } = {}): Conntrack {
  const dir = join(ports.procDir ?? "/proc", "sys/net/netfilter");
  const read = async (name: string): Promise<number | undefined> => {
    const text = await orUndefined(readFile(join(dir, name), "latin1"));
    return text === undefined ? undefined : Number(text);
  };
  return {
    async usage() {
      const [entries, maximum] = await Promise.all([read("nf_conntrack_count"), read("nf_conntrack_max")]);
      // 0: no limit.
      return entries === undefined || maximum === undefined || maximum === 0 ? undefined : { entries, maximum };
    },
  };
}

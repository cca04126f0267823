import { type OperationName, operations } from "#contract/index.ts";
import { apiBase } from "#contract/limits.ts";
import type { Operation } from "#contract/operation.ts";
import type { MachineSession } from "./support.ts";

const names = Object.keys(operations) as OperationName[];
const reads = names.filter((name) => operations[name].method === "GET");

/** What paths and queries name, where the machine has it. */
const named: Readonly<Record<string, string>> = { check_id: "disk_space", name: "cron.service" };
const namedBy: Partial<
  Record<OperationName, { readonly name?: string; readonly id?: string; readonly query?: string }>
> = {
  getCheckMetrics: { query: "check=disk_space" },
  getRunbook: { id: "disk_space" },
  getDiskUsage: { query: "path=/var" },
  listLogFieldValues: { name: "_COMM" },
  getPackage: { name: "bash" },
  getAlert: { name: "DiskSpaceLow" },
  canI: { query: "operation=restartService" },
};

function pathOf(name: OperationName): string {
  const { path, base }: Operation = operations[name];
  const { query, ...own } = namedBy[name] ?? {};
  const values: Readonly<Record<string, string>> = { ...named, ...own };
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, param: string) => values[param] ?? "none");
  return `${base === "root" ? "" : apiBase}${filled}${query === undefined ? "" : `?${query}`}`;
}

/** Asks for each read of the table of operations, one after the other. */
export async function readAll({ access }: Pick<MachineSession, "access">) {
  const { url, key } = await access();
  const answers: { readonly name: OperationName; readonly status: number; readonly text: string }[] = [];
  for (const name of reads) {
    const response = await fetch(`${url}${pathOf(name)}`, { headers: { "X-API-Key": key } });
    answers.push({ name, status: response.status, text: await response.text() });
  }
  return answers;
}

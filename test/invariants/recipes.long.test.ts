import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { read } from "./project.ts";
import { copyProject, type ProjectCopy } from "./project-copy.ts";

/** What somebody who follows a recipe writes. */
interface Followed {
  /** New files by their paths. */
  readonly files: Readonly<Record<string, string>>;
  /** What is inserted into a file, and before what. */
  readonly inserts: readonly (readonly [path: string, before: string, text: string])[];
}

/** Follows a recipe in a copy, where the gates then have to be content with what came of it. */
function follow(copy: ProjectCopy, { files, inserts }: Followed): void {
  for (const [path, text] of Object.entries(files)) copy.write(path, text);
  for (const [path, before, text] of inserts) {
    const old = copy.read(path);
    const at = old.indexOf(before);
    expect([path, before, at >= 0]).toEqual([path, before, true]);
    copy.write(path, `${old.slice(0, at)}${text}${old.slice(at)}`);
  }
  // Order of imports and width of lines are left to the formatter, as the recipes say.
  const touched = [...new Set([...Object.keys(files), ...inserts.map(([path]) => path)])];
  expect(copy.run(["biome", "check", "--write", "--no-errors-on-unmatched", ...touched])).toMatchObject({ status: 0 });
  expect(copy.run(["node", "scripts/generate.ts"])).toMatchObject({ status: 0 });
}

/** Every place that a recipe sends its reader to, for a name that they choose. */
function expectNamed(page: string, { files, inserts }: Followed, names: Readonly<Record<string, string>>): void {
  const text = Object.entries(names).reduce(
    (all, [placeholder, name]) => all.replaceAll(placeholder, name),
    read(page),
  );
  for (const path of [...Object.keys(files), ...inserts.map(([each]) => each)]) {
    const name = path.split("/").at(-1) ?? "";
    expect([path, text.includes(`\`${path}\``) || text.includes(`\`${name}\``)]).toEqual([path, true]);
  }
}

/** What a recipe's own example writes: each block of code says in its first line where it goes. */
function exampleOf(page: string): Followed {
  const blocks = [...read(page).matchAll(/^( *)```ts\n([\s\S]*?)^ *```$/gm)].map(([, indent = "", text = ""]) => {
    const [head = "", ...lines] = text.split("\n").map((line) => line.slice(indent.length));
    const [, path = "", before] = /^\/\/ (\S+?)(?:, before: (.+))?$/.exec(head) ?? [];
    expect([page, head, path === ""]).toEqual([page, head, false]);
    return { path, before, text: lines.join("\n") };
  });
  return {
    files: Object.fromEntries(blocks.flatMap(({ path, before, text }) => (before === undefined ? [[path, text]] : []))),
    inserts: blocks.flatMap(({ path, before, text }) => (before === undefined ? [] : [[path, before, text] as const])),
  };
}

const gates = [
  ["tsc", "-b"],
  ["biome", "check", "--error-on-warnings"],
  ["knip"],
  ["node", "scripts/generate.ts", "--check"],
  ["vitest", "run", "--project", "invariants"],
] as const satisfies readonly (readonly [string, ...string[]])[];

function expectContent(copy: ProjectCopy, tests: readonly string[]): void {
  for (const gate of [...gates, ["vitest", "run", ...tests] as const]) {
    const { status, output } = copy.run(gate);
    expect([gate.join(" "), status, status === 0 ? "" : output]).toEqual([gate.join(" "), 0, ""]);
  }
}

const check: Followed = {
  files: {
    "src/domain/health/checks/spare-descriptors.ts": `import type { Check } from "../check.ts";
import type { HostFacts } from "#domain/ports/host.ts";

/** How many files the host can open besides those that are open. */
export const spareDescriptorsCheck = (ports: { facts: Pick<HostFacts, "fileHandles"> }): Check => ({
  id: "spare_descriptors",
  name: "Spare file descriptors",
  category: "system",
  severity: "medium",
  async run() {
    const { used, maximum } = await ports.facts.fileHandles();
    const spare = maximum - used;
    return { status: spare < 1000 ? "fail" : "pass", message: \`\${spare} more files can be opened\`, details: { spare } };
  },
});
`,
    "src/domain/health/checks/spare-descriptors.test.ts": `import { expect, it } from "vitest";
import { createFakeHostFacts } from "../../../../test/fakes/host-facts.ts";
import { spareDescriptorsCheck } from "./spare-descriptors.ts";

it.each([
  [9000, "pass"],
  [9001, "fail"],
])("%d of 10 000 is %s", async (used, status) => {
  const facts = createFakeHostFacts({ fileHandles: { used, maximum: 10_000 } });
  const { signal } = new AbortController();
  expect(await spareDescriptorsCheck({ facts }).run({ ignore: [] }, signal)).toMatchObject({ status });
});
`,
  },
  inserts: [
    [
      "src/domain/health/registry.ts",
      "import type {",
      'import { spareDescriptorsCheck } from "./checks/spare-descriptors.ts";\n',
    ],
    [
      "src/contract/check-meanings.ts",
      "  zombie_processes: {",
      '  spare_descriptors: {\n    meaning: "Few more files can be opened.",\n    remedy: "Look for a leak, or raise fs.file-max.",\n  },\n',
    ],
    ["src/domain/health/registry.ts", "  zombie_processes:", "  spare_descriptors: spareDescriptorsCheck,\n"],
    [
      "test/host/support/provocations.ts",
      "  zombie_processes: [",
      '  spare_descriptors: [{ how: "nothing but a quiet host", isReal: true, statuses: ["pass"], file: kernel }],\n',
    ],
    [
      "test/host/checks-kernel.long.test.ts",
      '  provoke("zombie_processes"',
      '  provoke("spare_descriptors", "nothing but a quiet host", async (see) => {\n    see(await runCheck(session, "spare_descriptors"));\n  });\n',
    ],
  ],
};

const endpoint: Followed = {
  files: {},
  inserts: [
    [
      "src/contract/system.ts",
      "export const ServiceEntry =",
      `export const SystemLoad = Type.Object({ percent: percent("Share of processor time in use.") });
`,
    ],
    // The import, and the name that the answer has in the reference.
    ["src/contract/index.ts", "  SystemInfo,\n  system,", "  SystemLoad,\n"],
    ["src/contract/index.ts", "  SystemInfo,\n  ServiceEntry,", "  SystemLoad,\n"],
    [
      "src/contract/system.ts",
      "  listServices: {",
      `  getSystemLoad: {
    method: "GET",
    path: "/system/load",
    tag: "System",
    summary: "Load of the host",
    scope: "system:read",
    effect: "read",
    response: SystemLoad,
    errors: [],
  },
`,
    ],
    [
      "src/domain/system/handlers.ts",
      "    getSystemInfo:",
      "    getSystemLoad: async () => ({ percent: (await host.info()).cpu.load_percent }),\n",
    ],
    [
      "test/api/system.api.test.ts",
      'describe("GET /system/services"',
      `it("GET /system/load answers the load of the processors", async () => {
  expect((await get("/api/v1/system/load")).json).toEqual({ percent: expect.any(Number) });
});
`,
    ],
    ["test/invariants/cli.test.ts", '"getLiveness",', '"getSystemLoad", '],
  ],
};

describe("the recipe of", { timeout: 600_000 }, () => {
  let copy: ProjectCopy;
  beforeEach(() => {
    copy = copyProject();
  });
  afterEach(() => copy.remove());

  it("a health check names every place to touch, and leads to a project that the gates accept", () => {
    expectNamed("docs/recipes/health-check.md", check, { "<id>": "spare-descriptors", "<subject>": "kernel" });
    follow(copy, check);
    expectContent(copy, ["src/domain/health/checks/spare-descriptors.test.ts"]);
  });

  it("an endpoint names every place to touch, and leads to a project that the gates accept", () => {
    expectNamed("docs/recipes/endpoint.md", endpoint, { "<part>": "system" });
    follow(copy, endpoint);
    expectContent(copy, [
      "test/api/system.api.test.ts",
      "test/api/access-matrix.api.test.ts",
      "test/api/errors.api.test.ts",
    ]);
  });

  it("a port is followed by its own example, which the gates accept", () => {
    const port = exampleOf("docs/recipes/port.md");
    expect(Object.keys(port.files)).toHaveLength(4);
    follow(copy, port);
    expectContent(copy, ["test/ports/entropy.test.ts"]);
  });

  it("a package manager is followed by its own example, which the gates accept", () => {
    const page = "docs/recipes/package-manager.md";
    const example = exampleOf(page);
    const [name, ...list] = example.inserts;
    expect([Object.keys(example.files).length, name?.[0], list.length]).toEqual([
      3,
      "src/contract/check-meanings.ts",
      2,
    ]);
    expectNamed(page, example, { "<name>": "parcel" });
    follow(copy, example);
    expectContent(copy, ["src/adapters/packages/parcel/output.test.ts"]);
  });
});

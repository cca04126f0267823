import { join, normalize, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { directoriesIn, filesBelow, portNames, read } from "./project.ts";

/** What each layer may import, besides itself: the references of its compiler project. */
const layers: Record<string, readonly string[]> = {
  kernel: [],
  contract: ["kernel"],
  domain: ["kernel", "contract"],
  telemetry: ["kernel", "contract"],
  // The settings and the command line read and write files as the adapters do.
  "adapters/files": ["kernel"],
  // The service and the command line print entries as journalctl does.
  "adapters/journal-format": ["kernel", "contract"],
  adapters: ["kernel", "contract", "domain", "adapters/files", "adapters/journal-format"],
  config: ["kernel", "contract", "adapters/files"],
  transports: ["kernel", "contract", "domain", "telemetry"],
  client: ["kernel", "contract"],
  cli: ["kernel", "contract", "adapters/files", "adapters/journal-format", "client"],
};
/** Not layers of their own: together with the programs at the top of `src` they are the project that puts all layers together. */
const programs = ["app", "root"];

/** Layers whose directories do not import each other, and the directories that all others of the layer stand on, each on those before it. */
const partsStandOn: Record<string, readonly string[]> = {
  domain: ["common", "ports"],
  adapters: ["files", "journal-format", "exec", "sqlite", "link-local"],
  "adapters/packages": ["common"],
  transports: [],
};

interface Tsconfig {
  readonly compilerOptions: { readonly types: readonly string[] };
  readonly references?: readonly { readonly path: string }[];
}
const tsconfig = (directory: string): Tsconfig => JSON.parse(read(`${directory}/tsconfig.json`)) as Tsconfig;
const referencesOf = (directory: string): readonly string[] =>
  (tsconfig(directory).references ?? []).map(({ path }) => normalize(join(directory, path)));

/** The files of ours that a file imports, by their paths from the top of the project. */
function importsOf(path: string): readonly string[] {
  return [...read(path).matchAll(/(?:from|import\(|^import) ?"([#.][^"]+)"/gm)].map(([, name = ""]) =>
    name.startsWith("#") ? `src/${name.slice(1)}` : normalize(join(path, "..", name)),
  );
}

describe("layers", () => {
  it("have a compiler project each, which refers to what the layer may import", () => {
    const directories = Object.keys(layers).filter((each) => !each.includes("/"));
    expect([...directoriesIn("src")].sort()).toEqual([...directories, ...programs].sort());
    for (const [layer, references] of Object.entries(layers)) {
      expect([layer, [...referencesOf(`src/${layer}`)].sort()]).toEqual([
        layer,
        references.map((each) => `src/${each}`).sort(),
      ]);
    }
    const projects = filesBelow("src").filter((path) => path.endsWith("tsconfig.json"));
    expect(projects.sort()).toEqual(
      ["src/tsconfig.json", ...Object.keys(layers).map((each) => `src/${each}/tsconfig.json`)].sort(),
    );
  });

  it.each(Object.keys(partsStandOn))("keep the directories of %s apart", (layer) => {
    const partOf = (path: string): string => path.slice(`src/${layer}/`.length).split("/")[0] ?? "";
    const shared = partsStandOn[layer] ?? [];
    const floorOf = (path: string): readonly string[] =>
      shared.includes(partOf(path)) ? shared.slice(0, shared.indexOf(partOf(path))) : shared;
    // What lies beside the directories puts them together.
    const sources = filesBelow(`src/${layer}`).filter(
      (path) => /(?<!\.test)\.ts$/.test(path) && !/\.ts$/.test(partOf(path)),
    );
    const between = sources.flatMap((path) =>
      importsOf(path)
        .filter((each) => each.startsWith(`src/${layer}/`) && partOf(each) !== partOf(path))
        .filter((each) => !floorOf(path).includes(partOf(each)))
        .map((each) => `${path} imports ${each}`),
    );
    expect(sources.length).toBeGreaterThan(10);
    expect(between).toEqual([]);
  });

  it.each(programs)("keep the command line out of %s", (directory) => {
    const imported = filesBelow(`src/${directory}`)
      .filter((path) => path.endsWith(".ts"))
      .flatMap(importsOf);
    expect(imported.filter((each) => each.startsWith("src/cli/"))).toEqual([]);
  });

  it("have root's side apart from the service, which imports what asks root, and nothing that runs as root", () => {
    const asks = ["checks-through-root", "comparison", "places", "processes-through-root", "request", "through-root"];
    const between = (from: string, to: string): readonly string[] => {
      const sources = filesBelow(`src/${from}`).filter((path) => /(?<!\.test)\.ts$/.test(path));
      return sources.flatMap(importsOf).filter((each) => each.startsWith(`src/${to}/`));
    };
    expect(between("root", "app")).toEqual([]);
    expect([...new Set(between("app", "root"))].sort()).toEqual(asks.map((name) => `src/root/${name}.ts`));
  });

  it("keep Node out of the kernel, the contract, the domain and the client", () => {
    for (const layer of ["kernel", "contract", "domain", "client"]) {
      expect([layer, tsconfig(`src/${layer}`).compilerOptions.types]).toEqual([layer, []]);
    }
  });

  it("are compiled in one build", () => {
    const all = Object.keys(layers).map((each) => `src/${each}`);
    expect([...referencesOf("src")].sort()).toEqual(all.sort());
    expect(JSON.parse(read("tsconfig.json"))).toMatchObject({
      references: [{ path: "src" }, { path: "web" }, { path: "test" }],
    });
  });
});

describe("the thread of the journal", () => {
  /** What is loaded with a file of ours, and the packages among it; what is imported as a type is not. */
  const loadedWith = (entry: string): { readonly files: ReadonlySet<string>; readonly packages: readonly string[] } => {
    const files = new Set([entry]);
    const packages: string[] = [];
    for (const file of files) {
      const values = /^(?:import(?! type\b)|export(?! type\b))(?:[^;"]*? from)? ?"([^"]+)";/gm;
      for (const [, name = ""] of read(file).matchAll(values)) {
        if (name.startsWith("#")) files.add(`src/${name.slice(1)}`);
        else if (name.startsWith(".")) files.add(normalize(join(file, "..", name)));
        else if (!name.startsWith("node:")) packages.push(`${file} loads ${name}`);
      }
    }
    return { files, packages };
  };

  it("loads no package, of which each of several threads would have its own", () => {
    const { files, packages } = loadedWith("src/adapters/journald/thread.ts");
    expect(packages).toEqual([]);
    expect([...files]).toEqual(
      expect.arrayContaining(["src/adapters/journald/journal-file/file.ts", "src/domain/common/error.ts"]),
    );
    expect(loadedWith("src/contract/error-body.ts").packages).toEqual(["src/contract/error-body.ts loads typebox"]);
  });
});

describe("dependencies", () => {
  type Platforms = string | string[] | undefined;
  interface Locked {
    readonly resolved?: string;
    readonly integrity?: string;
    readonly optional?: boolean;
    readonly os?: Platforms;
    readonly cpu?: Platforms;
    readonly libc?: Platforms;
  }
  const lock = JSON.parse(read("package-lock.json")) as { packages: Record<string, Locked> };

  it("have checksums, those for other platforms alone that of no file", () => {
    const ofNoFile = `sha512-${Buffer.alloc(64).toString("base64")}`;
    const entries = Object.entries(lock.packages).filter(([key]) => key !== "");
    for (const [key, { integrity }] of entries)
      expect([key, integrity]).toEqual([key, expect.stringMatching(/^sha512-[A-Za-z0-9+/]{86}==$/)]);
    // As npm reads them; the platforms are those that have a pinned Node.
    const takes = (list: Platforms, values: readonly string[]): boolean =>
      list === undefined || values.some((value) => [list].flat().includes(value));
    const left = entries.filter(([, { integrity }]) => integrity === ofNoFile);
    for (const [key, { optional, os, cpu, libc }] of left) {
      const isForUs = takes(os, ["linux"]) && takes(cpu, ["x64", "arm64"]) && takes(libc, ["glibc"]);
      expect([key, optional, isForUs]).toEqual([key, true, false]);
    }
  });

  it("are pinned exactly, without a registry in the lockfile", () => {
    const { dependencies, devDependencies, optionalDependencies } = JSON.parse(read("package.json")) as Record<
      string,
      Record<string, string>
    >;
    for (const version of Object.values({ ...dependencies, ...devDependencies, ...optionalDependencies })) {
      // Exact also where nothing but pre-releases was ever published; a range or a tag is not.
      expect(version).toMatch(/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/);
    }
    expect(Object.values(lock.packages).filter(({ resolved }) => resolved !== undefined)).toEqual([]);
  });
});

describe("processes", () => {
  it("are started in one place", () => {
    const starters = filesBelow("src").filter(
      (path) => path.endsWith(".ts") && !path.endsWith(".test.ts") && /child_process/.test(read(path)),
    );
    expect(starters.filter((path) => !path.startsWith("src/adapters/exec/"))).toEqual([]);
    expect(starters).toContain("src/adapters/exec/index.ts");
    for (const path of filesBelow("src").filter((each) => each.endsWith(".ts"))) {
      expect([path, /shell:\s*true|execSync\(|["'`](\/bin\/)?(sh|bash)["'`]/.test(read(path))]).toEqual([path, false]);
    }
  });
});

describe("ports", () => {
  const kebab = (name: string): string => name.replaceAll(/(?<!^)([A-Z])/g, "-$1").toLowerCase();
  const named = portNames();
  // A probe is a single function, so it is a type and not an interface.
  const ports = [...named, "Probe"];

  const tests = [...filesBelow("test/ports"), ...filesBelow("test/host")].filter((path) => path.endsWith(".test.ts"));
  const imported = tests.map(read).join("\n");
  /** Directories whose sources name the port, as imports have them. */
  const adaptersOf = (port: string): readonly string[] => {
    const type = new RegExp(`import (type )?\\{[^}]*\\b${port}\\b[^}]*\\} from "#(domain/ports|kernel/clock)`);
    const files = [...filesBelow("src/adapters"), ...filesBelow("src/app")].filter(
      (path) => !path.endsWith(".test.ts") && type.test(read(path)),
    );
    return [...new Set(files.map((path) => path.split("/").slice(1, 3).join("/")))];
  };

  it.each(ports)("%s is tested on the real thing, in test/ports or on a host", (port) => {
    const adapters = adaptersOf(port);
    const tested = adapters.filter((name) => imported.includes(`from "#${name}/`));
    expect([port, adapters.length > 0, tested.length > 0]).toEqual([port, true, true]);
  });

  it.each(["journal", "package-manager", "units", "snapshot-backend", "operation-store", "clock"])(
    "have a fake with logic of its own that runs their suite too: %s",
    (name) => {
      const suite = read(`test/ports/${name}.test.ts`);
      expect(suite).toContain(`"../fakes/${name}.ts"`);
    },
  );

  it("have no fake without a port", () => {
    const fakes = filesBelow("test/fakes").map((path) => relative("test/fakes", path).replace(".ts", ""));
    expect(fakes.filter((name) => !ports.map(kebab).includes(name))).toEqual([]);
  });
});

import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve, sep } from "node:path";
import { type BuildOptions, build, type Metafile, type Plugin } from "esbuild";
import { bundleConsole } from "./console.ts";
import { root } from "./project.ts";

/**
 * What the program reads beside itself: where it is in the sources, and where it is in the package, below the directory that
 * holds `program/`. A `new URL(…, import.meta.url)` that is not here fails the build. `*` stands for the version: a process that
 * an upgrade leaves running starts threads of its own version or none, and never those of the new one.
 */
export const filesBeside: Readonly<Record<string, string>> = {
  "package.json": "package.json",
  "src/main.ts": "main.js",
  "src/adapters/journald/thread.ts": "program/journal-thread-*.js",
  "src/app/tracing/thread.ts": "program/trace-thread-*.js",
  "dist/console": "console",
  "deploy/observability": "observability",
  runbooks: "runbooks",
};

/** Packages whose own files are read, and what of them. */
export const filesOfPackages: Readonly<Record<string, readonly string[]>> = {
  "@fastify/swagger-ui": ["static/swagger-ui.css", "static/swagger-ui-bundle.js"],
};

type Entries = Readonly<Record<string, string>>;

/** What is loaded by name: the service, its tasks and the command line. */
const programEntries = (version: string): Entries => ({
  program: "src/main.ts",
  [`command-line-${version}`]: "src/command-line.ts",
  [`serve-command-${version}`]: "src/serve-command.ts",
  [`task-command-${version}`]: "src/task-command.ts",
  [`look-command-${version}`]: "src/look-command.ts",
  [`local-commands-${version}`]: "src/local-commands.ts",
});

const threadEntries = (version: string): Entries => ({
  [`journal-thread-${version}`]: "src/adapters/journald/thread.ts",
  [`trace-thread-${version}`]: "src/app/tracing/thread.ts",
});

const require = createRequire(import.meta.url);

/** The directory of an installed package, by any of the modules that it exports. */
export function directoryOfPackage(name: string): string {
  const marker = `${sep}${join("node_modules", name)}${sep}`;
  const path = require.resolve(name);
  return path.slice(0, path.lastIndexOf(marker) + marker.length - 1);
}

/** Where something that the program reads beside itself is, as seen from an output. */
type Place = (path: string) => string | undefined;

const placeInPackage =
  (version: string): Place =>
  (path) => {
    if (path.startsWith("node_modules/")) return `../${path}`;
    const place = filesBeside[path];
    return place && `../${place.replace("*", version)}`;
  };

/** Names that an `export` can have. */
const isName = (name: string): boolean => /^[A-Za-z_$][\w$]*$/.test(name);

/**
 * What Node makes of `import("package")` where that is CommonJS: its names are exports. The bundler would hand over a default
 * alone, so each package that is loaded on demand gets a module that names what Node finds in it.
 */
const namesOnDemand: Plugin = {
  name: "names-on-demand",
  setup(build) {
    const namespace = "on-demand";
    build.onResolve({ filter: /^[^.#/]/ }, ({ kind, path, importer }) =>
      kind === "dynamic-import" && !path.startsWith("node:") && importer.startsWith(join(root, "src"))
        ? { path, namespace }
        : undefined,
    );
    build.onLoad({ filter: /.*/, namespace }, async ({ path }) => {
      const names = Object.keys((await import(path)) as object).filter(isName);
      return { contents: `export { ${names.join(", ")} } from ${JSON.stringify(path)};`, resolveDir: root };
    });
  },
};

/**
 * Modules of Node without the face that an import gives them: to name their exports it reads all of them, and those of `node:http`
 * load a whole client with HTTP/2.
 */
const modulesOfNode: Plugin = {
  name: "modules-of-node",
  setup(build) {
    const namespace = "node-module";
    build.onResolve({ filter: /^node:/ }, ({ kind, path }) =>
      kind === "import-statement" ? { path, namespace, sideEffects: false } : undefined,
    );
    build.onLoad({ filter: /.*/, namespace }, ({ path }) => {
      const names = Object.keys(process.getBuiltinModule(path) ?? {}).filter(
        (name) => isName(name) && name !== "default",
      );
      const given = names.map(
        (name) => `const node_${name} = /* @__PURE__ */ get("${name}"); export { node_${name} as ${name} };`,
      );
      return {
        contents: [
          `const module = /* @__PURE__ */ process.getBuiltinModule("${path}");`,
          "const get = (name) => module[name];",
          "export default module;",
          ...given,
        ].join("\n"),
      };
    });
  },
};

/** What makes its own `require` hides from the bundler what it loads, and would look for it in a node_modules: taken as CommonJS. */
const ownRequire: Plugin = {
  name: "own-require",
  setup(build) {
    build.onResolve({ filter: /^@opentelemetry\/otlp-grpc-exporter-base$/ }, ({ kind, path, resolveDir }) =>
      kind === "import-statement" ? build.resolve(path, { kind: "require-call", resolveDir }) : undefined,
    );
    build.onEnd(({ metafile }) => {
      const hiding = Object.keys(metafile?.outputs ?? {}).filter((path) =>
        readFileSync(join(root, path), "utf8").includes("createRequire(import.meta.url)"),
      );
      if (hiding.length > 0) throw new Error(`cannot bundle: ${hiding.join(", ")} would load from a node_modules`);
    });
  },
};

/** Node keeps a source in two bytes a character where one of them needs two. The bundler escapes those in strings, not in expressions. */
const oneByte: Plugin = {
  name: "one-byte",
  setup(build) {
    build.onEnd(({ metafile }) => {
      for (const path of Object.keys(metafile?.outputs ?? {})) {
        const [found] = /[^\0-\xff].*/.exec(readFileSync(join(root, path), "utf8")) ?? [];
        if (found !== undefined)
          throw new Error(`cannot bundle: in ${path} escape ${JSON.stringify(found.slice(0, 80))}`);
      }
    });
  },
};

/** All outputs are in one directory, so what stands beside a source must be looked for from there. */
const besideTheOutput = (place: Place): Plugin => ({
  name: "beside-the-output",
  setup(build) {
    build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      if (path.includes(`${sep}node_modules${sep}`)) return undefined;
      const placed = (literal: string): string => {
        const found = relative(root, resolve(dirname(path), literal));
        const url = place(found);
        if (url !== undefined) return url;
        const name = relative(root, path);
        throw new Error(`cannot bundle ${name}: the package has no place for ${found} (name one in filesBeside)`);
      };
      const contents = readFileSync(path, "utf8")
        .replaceAll(
          /new URL\("([^"]+)", import\.meta\.url\)/g,
          (_, literal: string) => `new URL("${placed(literal)}", import.meta.url)`,
        )
        .replaceAll(/import\.meta\.resolve\("([^"]+)"\)/g, (_, name: string) => {
          if (!Object.hasOwn(filesOfPackages, name)) throw new Error(`cannot bundle ${path}: no files of ${name}`);
          return `new URL("${place(`node_modules/${name}`)}/index.js", import.meta.url).href`;
        });
      return { contents, loader: "ts" };
    });
  },
});

/**
 * A CommonJS module in a bundle asks for the modules of Node with `require`, which an ES module must be given. The version
 * makes the names of chunks, which follow from their content, those of this version: what an upgrade leaves loaded of the
 * version before never loads a part of the new one in place of its own.
 */
const banner = (version: string): string => `/* steward ${version} */
import { createRequire as stewardRequire } from "node:module";
import { fileURLToPath as stewardPath } from "node:url";
const require = stewardRequire(import.meta.url), __filename = stewardPath(import.meta.url), __dirname = stewardPath(new URL(".", import.meta.url));`;

const optionsOf = (version: string, place: Place) =>
  ({
    absWorkingDir: root,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node24",
    // Their licences are in a file of their own.
    legalComments: "none",
    banner: { js: banner(version) },
    // A start reads all of it.
    minifySyntax: true,
    minifyWhitespace: true,
    metafile: true,
    logLevel: "warning",
    plugins: [besideTheOutput(place), ownRequire, namesOnDemand, modulesOfNode, oneByte],
  }) satisfies BuildOptions;

/**
 * Writes the program, or what other entries lead to, to `outdir`: a few files, and a chunk for everything that is loaded on demand.
 * @returns which module went into which output.
 */
export async function bundleProgram(
  outdir: string,
  version: string,
  entries?: Entries,
): Promise<Pick<Metafile, "outputs">> {
  const options = {
    ...optionsOf(version, placeInPackage(version)),
    outdir,
  };
  const { metafile } = await build({ ...options, entryPoints: entries ?? programEntries(version), splitting: true });
  if (entries !== undefined) return metafile;
  // Run once by root, with a directory for compiled code, after an installation.
  const loaded = Object.keys(programEntries(version)).filter((name) => name !== "program");
  writeFileSync(join(outdir, "compile.js"), loaded.map((name) => `import "./${name}.js";\n`).join(""));
  // What a thread shares with the program would be in chunks of its own, and each takes time at the start of both.
  const threads = await build({ ...options, entryPoints: threadEntries(version) });
  return { outputs: { ...metafile.outputs, ...threads.metafile.outputs } };
}

/** Writes the program as a checkout runs it, which has all else where the sources have it: what it starts in turn is the bundle too. */
export async function bundleCheckout(outdir: string): Promise<void> {
  const name = "checkout";
  const entries = { program: "src/main.ts", ...threadEntries(name) };
  const bundled = Object.fromEntries(Object.entries(entries).map(([entry, path]) => [path, entry]));
  const place: Place = (path) => {
    if (path === "dist/console") return "./console";
    return bundled[path] === undefined ? relative(outdir, join(root, path)) : `./${bundled[path]}.mjs`;
  };
  const options = { ...optionsOf(name, place), outdir, outExtension: { ".js": ".mjs" } };
  await build({ ...options, entryPoints: { program: "src/main.ts" }, splitting: true });
  await build({ ...options, entryPoints: threadEntries(name) });
  await bundleConsole(join(outdir, "console"));
}

/** The installed packages that are in a bundle, by directory below the project. */
export function packagesIn({ outputs }: Pick<Metafile, "outputs">): readonly string[] {
  const inputs = Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
  );
  const directories = inputs.flatMap((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
  return [
    ...new Set([...directories, ...Object.keys(filesOfPackages).map((name) => join("node_modules", name))]),
  ].sort();
}

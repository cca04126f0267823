import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve, sep } from "node:path";
import { build, type Metafile, type Plugin } from "esbuild";
// Packages are loaded here to see what they export, and one of them needs this to be there before.
import "reflect-metadata";
import { root } from "./project.ts";

/**
 * What the program reads beside itself: where it is in the sources, and where it is in the package, below the folder that
 * holds `program/`. A `new URL(…, import.meta.url)` that is not here fails the build. `*` stands for the version: a process that
 * an upgrade leaves running starts threads of its own version or none, and never those of the new one.
 */
export const filesBeside: Readonly<Record<string, string>> = {
  "package.json": "package.json",
  "src/main.ts": "main.js",
  "src/adapters/journald/thread.ts": "program/journal-thread-*.js",
  "src/app/tracing/thread.ts": "program/trace-thread-*.js",
  "src/cli/commands/plugins/plugin-templates": "plugin-templates",
  "deploy/observability": "observability",
};

/** Packages whose own files are read, and what of them. */
export const filesOfPackages: Readonly<Record<string, readonly string[]>> = {
  "@fastify/swagger-ui": ["static/swagger-ui.css", "static/swagger-ui-bundle.js"],
};

const entryPointsOf = (version: string): Readonly<Record<string, string>> => ({
  program: "src/main.ts",
  [`journal-thread-${version}`]: "src/adapters/journald/thread.ts",
  [`trace-thread-${version}`]: "src/app/tracing/thread.ts",
  compile: "scripts/package/compile.ts",
});

const require = createRequire(import.meta.url);

/** The folder of an installed package, by any of the modules that it exports. */
export function folderOfPackage(name: string): string {
  const marker = `${sep}${join("node_modules", name)}${sep}`;
  const path = require.resolve(name);
  return path.slice(0, path.lastIndexOf(marker) + marker.length - 1);
}

/** The same place, as seen from a file in `program/`. */
function placed(source: string, literal: string, version: string): string {
  const found = relative(root, resolve(dirname(source), literal));
  const place = filesBeside[found];
  if (place === undefined) {
    throw new Error(
      `cannot bundle ${relative(root, source)}: the package has no place for ${found} (name one in filesBeside)`,
    );
  }
  return `../${place.replace("*", version)}`;
}

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
        (name, at) => `const _${at} = /* @__PURE__ */ get("${name}"); export { _${at} as ${name} };`,
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

/** All outputs are in one folder, so what stands beside a source has to be looked for from there. */
const besideThePackage = (version: string): Plugin => ({
  name: "beside-the-package",
  setup(build) {
    build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      if (path.includes(`${sep}node_modules${sep}`)) return undefined;
      const contents = readFileSync(path, "utf8")
        .replaceAll(
          /new URL\("([^"]+)", import\.meta\.url\)/g,
          (_, literal: string) => `new URL("${placed(path, literal, version)}", import.meta.url)`,
        )
        .replaceAll(/import\.meta\.resolve\("([^"]+)"\)/g, (_, name: string) => {
          if (!Object.hasOwn(filesOfPackages, name)) throw new Error(`cannot bundle ${path}: no files of ${name}`);
          return `new URL("../node_modules/${name}/index.js", import.meta.url).href`;
        });
      return { contents, loader: "ts" };
    });
  },
});

/**
 * A CommonJS module in a bundle asks for the modules of Node with `require`, which an ES module has to be given. The version
 * makes the names of chunks, which follow from their content, those of this version: what an upgrade leaves loaded of the
 * version before never loads a part of the new one in place of its own.
 */
const banner = (version: string): string => `/* steward ${version} */
import { createRequire as stewardRequire } from "node:module";
import { fileURLToPath as stewardPath } from "node:url";
const require = stewardRequire(import.meta.url), __filename = stewardPath(import.meta.url), __dirname = stewardPath(new URL(".", import.meta.url));`;

/**
 * Writes the program, or what other entries lead to, to `outdir`: a few files, and a chunk for everything that is loaded on demand.
 * @returns which module went into which output.
 */
export async function bundleProgram(
  outdir: string,
  version: string,
  entries: Readonly<Record<string, string>> = entryPointsOf(version),
): Promise<Metafile> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: entries,
    outdir,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node24",
    minifySyntax: true,
    minifyWhitespace: true,
    // Their licences are in a file of their own.
    legalComments: "none",
    banner: { js: banner(version) },
    metafile: true,
    logLevel: "warning",
    plugins: [besideThePackage(version), namesOnDemand, modulesOfNode],
  });
  return metafile;
}

/** The installed packages that are in a bundle, by folder below the project. */
export function packagesIn({ outputs }: Metafile): readonly string[] {
  const inputs = Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
  );
  const folders = inputs.flatMap((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
  return [...new Set([...folders, ...Object.keys(filesOfPackages).map((name) => join("node_modules", name))])].sort();
}

/** A target's module is `NAME.ts` beside this file. */
export interface TargetEntry {
  readonly name: string;
  /** Paths inside of the project, or beginnings of them, of the modules whose coverage guides it. */
  readonly instrumented: readonly string[];
}

/** Everything that is fuzzed. */
export const targets: readonly TargetEntry[] = [
  { name: "journal-file", instrumented: ["src/adapters/journald/"] },
  { name: "log-expression", instrumented: ["src/domain/logs/"] },
  { name: "otlp", instrumented: ["src/transports/otlp/", "src/domain/traces/"] },
  { name: "dbus-reply", instrumented: ["src/adapters/systemd/", "node_modules/dbus-native/"] },
  { name: "http-request", instrumented: ["src/transports/http/", "src/contract/", "src/domain/", "src/app/parts/"] },
  { name: "plugin-directory", instrumented: ["src/adapters/plugins/"] },
  { name: "plugin-manifest", instrumented: ["src/adapters/plugins/", "node_modules/yaml/"] },
  { name: "settings", instrumented: ["src/config/", "node_modules/yaml/"] },
];

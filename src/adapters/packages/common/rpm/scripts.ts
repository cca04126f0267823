import { joinFailures } from "../asking.ts";

/** A script of a package that failed, and the last that it said. */
export interface ScriptError {
  readonly name: string;
  readonly script: string;
  readonly said: string | undefined;
}

const describeScript = ({ name, script, said }: ScriptError): string =>
  `${name}: its ${script} script failed${said === undefined ? "" : ` (${said})`}`;

/** Says which scripts failed in an output; empty where none did. */
export const scriptFailuresBy =
  (parse: (text: string) => readonly ScriptError[]) =>
  (text: string): string =>
    joinFailures(parse(text).map(describeScript));

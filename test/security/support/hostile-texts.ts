/** Text that would do something if a program took it for more than text. */
export interface HostileText {
  readonly kind: "shell" | "option" | "address";
  readonly text: string;
}

/**
 * What a shell would run. Each would make the file `sentinel`, or one of the name `trace` wherever it is run: some inputs take
 * no slash.
 */
function shellTexts(sentinel: string, trace: string): readonly string[] {
  return [
    `$(touch ${sentinel})`,
    `\`touch ${sentinel}\``,
    `$(touch ${trace})`,
    `\`touch ${trace}\``,
    `;touch ${trace};`,
    `a;touch ${sentinel};b`,
    `a|touch ${trace}`,
    `a&touch ${trace}&`,
    `a&&touch ${sentinel}`,
    `a\ntouch ${sentinel}\n`,
    `a\r\ntouch ${trace}\r\n`,
    `';touch ${sentinel};'`,
    `";touch ${sentinel};"`,
    `'"$(touch ${sentinel})"'`,
    `>${trace}`,
    `<(touch ${sentinel})`,
    `\${IFS}$(touch\${IFS}${sentinel})`,
    `{touch,${sentinel}}`,
    `nginx.service$(touch ${trace})`,
  ];
}

/** What programs that the service starts would take for options; some would write a file, or run something. */
function optionTexts(sentinel: string, trace: string): readonly string[] {
  return [
    "-",
    "--",
    "---",
    "-h",
    "-rf",
    "--help",
    "--version",
    "%2dh",
    "\u2010h",
    "\u2013-version",
    `--cursor-file=${sentinel}`,
    `--output=${sentinel}`,
    `-o${trace}`,
    `-oAPT::Update::Pre-Invoke::=touch${"\t"}${sentinel}`,
    `-oDpkg::Pre-Invoke::=touch ${trace}`,
    `--setopt=logdir=${sentinel}`,
    `--property=ExecStart=touch ${trace}`,
    `--use-compress-program=touch ${sentinel}`,
    `--checkpoint-action=exec=touch ${sentinel}`,
    "--root=/nonexistent",
    "--host=elsewhere.example",
    "--machine=elsewhere",
  ];
}

/** What would make the service ask, or read, where a client says. */
export const addressTexts = (port: number): readonly HostileText[] =>
  [
    `http://127.0.0.1:${port}/`,
    `https://127.0.0.1:${port}/`,
    `//127.0.0.1:${port}/x`,
    `127.0.0.1:${port}`,
    `user@127.0.0.1:${port}`,
    `http://localhost:${port}/redirect`,
    `tcp://127.0.0.1:${port}`,
    `unix:path=/run/dbus/system_bus_socket`,
    "file:///etc/shadow",
    "/etc/shadow",
    "../../../../etc/shadow",
    "..\\..\\etc\\shadow",
  ].map((text) => ({ kind: "address", text }));

/** Shells and options: all of them, around a file that must never be there. */
export const hostileTexts = (sentinel: string, trace: string): readonly HostileText[] => [
  ...shellTexts(sentinel, trace).map((text) => ({ kind: "shell" as const, text })),
  ...optionTexts(sentinel, trace).map((text) => ({ kind: "option" as const, text })),
];

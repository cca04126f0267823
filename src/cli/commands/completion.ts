import { Argument } from "commander";
import { shellQuoted } from "#kernel/text.ts";
import type { Command } from "../core/command.ts";
import { allCommands, type CommandNode, describeCommand, type OptionNode } from "../core/command-tree.ts";
import type { CommandPorts } from "../core/ports.ts";

const words = (list: readonly string[]): string => shellQuoted(list.join(" "));
const pathText = ({ path }: CommandNode): string => path.join(" ");
const takesValue = ({ value }: OptionNode): boolean => value !== "none";

const everywhere = (root: CommandNode): readonly OptionNode[] => root.options.filter(takesValue);

const ownOptions = ({ options, preset }: CommandNode): readonly OptionNode[] => {
  const others = preset?.options.filter(({ names }) => !options.some((each) => each.names[0] === names[0])) ?? [];
  return [...options, ...others];
};

const optionsAt = (node: CommandNode, root: CommandNode): readonly OptionNode[] =>
  node === root ? node.options : [...ownOptions(node), ...everywhere(root)];

const choicesOf = (node: CommandNode): readonly string[] => [
  ...node.commands.map(({ name }) => name),
  ...node.arguments.flatMap(({ choices }) => choices),
];

const valueOptions = (root: CommandNode): readonly (readonly [names: readonly string[], OptionNode, CommandNode])[] =>
  allCommands(root).flatMap((node) =>
    ownOptions(node)
      .filter(takesValue)
      .map((option) => [option.names, option, node] as const),
  );

/** A `case` branch for the value of each option, by what the option takes. */
const valueBranches = (root: CommandNode, indent: string, complete: (value: OptionNode) => string): readonly string[] =>
  valueOptions(root).map(([names, option, { path }]) => {
    const patterns = names.map((name) => shellQuoted([...path, name].join(" "))).join("|");
    return `${indent}${patterns}) ${complete(option)} ;;`;
  });

const sourceOf = (node: CommandNode): string | undefined =>
  node.arguments.map(({ source }) => source).find((source) => source !== undefined);

const wantsFiles = (node: CommandNode): boolean =>
  node.arguments.some(({ term }) => /^[<[](file|dir|directory)/.test(term));

const optionsWithValue = (root: CommandNode): readonly string[] => [
  ...new Set(valueOptions(root).flatMap(([names]) => names)),
];

// What bash and zsh read in the same way. `path` is the one word that zsh has for itself.

/** The hidden command that asks the service. Its words are the form, what is listed, and what that shell knows of the line. */
const ask = (words: string): string => `command steward __complete ${words} 2>/dev/null </dev/null`;

const wordsWalk = (root: CommandNode): string => `    if [[ -n $previous ]]; then
      previous=
      continue
    fi
    case $each in
    ${optionsWithValue(root).map(shellQuoted).join("|")}) previous=$each ;;
    -*) ;;
    *)
      case "\${route:+$route }$each" in
      ${allCommands(root).slice(1).map(pathText).map(shellQuoted).join("|")}) route="\${route:+$route }$each" ;;
      esac
      ;;
    esac`;

const afterOption = (root: CommandNode, values: readonly string[]): string => `    case " ${everywhere(root)
  .flatMap(({ names }) => names)
  .join(" ")} " in
    *" $previous "*) each=$previous ;;
    *) each="\${route:+$route }$previous" ;;
    esac
    case $each in
${values.join("\n")}
    esac`;

const further = (node: CommandNode): string => {
  const source = sourceOf(node);
  return `${wantsFiles(node) ? "; files=1" : ""}${source === undefined ? "" : `; names=${source}`}`;
};

function bash(root: CommandNode): string {
  const nodes = allCommands(root);
  const values = valueBranches(root, "    ", ({ value, choices, source }) => {
    if (source !== undefined) return `names=${source}`;
    if (value === "choice") return `COMPREPLY=($(compgen -W ${words(choices)} -- "$current")); return`;
    if (value === "file") return 'compopt -o filenames; COMPREPLY=($(compgen -f -- "$current")); return';
    if (value === "directory") return 'compopt -o filenames; COMPREPLY=($(compgen -d -- "$current")); return';
    return "return";
  });
  const lists = nodes.map((node) => {
    const flags = optionsAt(node, root).flatMap(({ names }) => names);
    return `    ${shellQuoted(pathText(node))}) commands=${words(choicesOf(node))}; options=${words(flags)}${further(node)} ;;`;
  });
  return `# bash completion for steward, made by: steward completion bash
_steward() {
  local current previous route commands options files names line at each
  local -a typed
  COMPREPLY=()
  # Bash splits words at :, = and @ too: what nothing separates on the line is one word.
  line=\${COMP_LINE:0:COMP_POINT}
  for ((at = 0; at < COMP_CWORD; at++)); do
    each=\${COMP_WORDS[at]}
    if [[ -n \${typed[*]} && $line == "$each"* ]]; then
      typed[-1]+=$each
    else
      typed+=("$each")
    fi
    line=\${line#*"$each"}
  done
  if [[ $line == [[:space:]]* ]]; then
    current=\${line#"\${line%%[![:space:]]*}"}
  else
    current=\${typed[-1]}$line
    unset "typed[-1]"
  fi
  previous=
  route=
  for each in "\${typed[@]:1}"; do
${wordsWalk(root)}
  done
  if [[ $current == --*=* ]]; then
    previous=\${current%%=*}
    current=\${current#*=}
  fi
  if [[ -n $previous ]]; then
${afterOption(root, values)}
    [[ -n $names ]] || return
  else
    case $route in
${lists.join("\n")}
    esac
  fi
  case $current in
  -*) COMPREPLY=($(compgen -W "$options" -- "$current")) ;;
  *)
    COMPREPLY=($(compgen -W "$commands" -- "$current"))
    if [[ -n $files ]]; then
      compopt -o filenames
      COMPREPLY+=($(compgen -f -- "$current"))
    fi
    if [[ -n $names ]]; then
      while IFS= read -r each; do
        [[ " \${COMPREPLY[*]} " == *" $each "* ]] || COMPREPLY+=("$each")
      done < <(${ask(`escaped "$names" "$current" $((\${#current} - \${#2})) "\${typed[@]:1}"`)})
    fi
    ;;
  esac
}
complete -F _steward steward
`;
}

const described = (name: string, description: string): string =>
  shellQuoted(`${name.replaceAll(":", "\\:")}:${description}`);

function zsh(root: CommandNode): string {
  const nodes = allCommands(root);
  const values = valueBranches(root, "      ", ({ value, choices, source }) => {
    if (source !== undefined) return `names=${source}`;
    if (value === "choice") return `compadd -- ${choices.map(shellQuoted).join(" ")}; return`;
    if (value === "file") return "_files; return";
    return value === "directory" ? "_files -/; return" : "return 1";
  });
  const lists = nodes.map((node) => {
    const commands = [
      ...node.commands.map(({ name, description }) => described(name, description)),
      ...node.arguments.flatMap(({ choices, description }) => choices.map((choice) => described(choice, description))),
    ];
    const options = optionsAt(node, root).flatMap(({ names, description }) =>
      names.map((name) => described(name, description)),
    );
    return `    ${shellQuoted(pathText(node))}) commands=(${commands.join(" ")}); options=(${options.join(" ")})${further(node)} ;;`;
  });
  return `#compdef steward
# zsh completion for steward, made by: steward completion zsh
_steward() {
  local current previous route each files names
  local -a commands options found
  current=\${words[CURRENT]}
  previous=
  route=
  # The array of words has the program first.
  for each in "\${(@)words[2,CURRENT-1]}"; do
${wordsWalk(root)}
  done
  if [[ $current == --*=* ]]; then
    previous=\${current%%=*}
    current=\${current#*=}
    compset -P '*='
  fi
  if [[ -n $previous ]]; then
${afterOption(root, values)}
    [[ -n $names ]] || return 1
  else
    case $route in
${lists.join("\n")}
    esac
  fi
  if [[ $current == -* ]]; then
    _describe -o option options
  else
    (( \${#commands} )) && _describe command commands
    [[ -n $files ]] && _files
    if [[ -n $names ]]; then
      found=(\${(f)"$(${ask(`plain $names "$current" 0 "\${(@Q)words[2,CURRENT-1]}"`)})"})
      (( \${#found} )) && compadd -- "\${found[@]}"
    fi
  fi
}
if [[ $funcstack[1] == _steward ]]; then
  _steward "$@"
else
  compdef _steward steward
fi
`;
}

/** A word of fish, in which a backslash stands for itself but before a quote or another one. */
const fishWord = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

function fish(root: CommandNode): string {
  const nodes = allCommands(root);
  const lines = nodes.flatMap((node) => {
    const at = `-n ${fishWord(`__steward_at ${fishWord(pathText(node))}`)}`;
    const below = [
      ...node.commands.map(({ name, description }) => [name, description] as const),
      ...node.arguments.flatMap(({ choices, description }) => choices.map((choice) => [choice, description] as const)),
    ].map(([name, description]) => `complete -c steward ${at} -a ${fishWord(name)} -d ${fishWord(description)}`);
    const options = optionsAt(node, root).map(({ names, description, value, choices, source }) => {
      const spelled = names.map((name) => (name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
      const takes = {
        none: "",
        text: " -x",
        file: " -r -F",
        directory: " -x -a '(__fish_complete_directories)'",
        choice: ` -x -a ${fishWord(choices.join(" "))}`,
      }[value];
      const named = source === undefined ? takes : ` -x -a ${fishWord(`(__steward_names ${source})`)}`;
      return `complete -c steward ${at} ${spelled.join(" ")}${named} -d ${fishWord(description)}`;
    });
    const files = wantsFiles(node) ? [`complete -c steward ${at} -F`] : [];
    const source = sourceOf(node);
    const names =
      source === undefined ? [] : [`complete -c steward ${at} -a ${fishWord(`(__steward_names ${source})`)}`];
    return [...below, ...options, ...files, ...names];
  });
  return `# fish completion for steward, made by: steward completion fish
function __steward_path
    set -l path
    set -l skips 0
    set -l known ${nodes.slice(1).map(pathText).map(fishWord).join(" ")}
    for each in (commandline -opc)[2..-1]
        if test $skips = 1
            set skips 0
            continue
        end
        switch $each
            case ${optionsWithValue(root).map(fishWord).join(" ")}
                set skips 1
            case '-*'
            case '*'
                if contains -- (string join ' ' $path $each) $known
                    set -a path $each
                end
        end
    end
    string join ' ' $path
end
function __steward_at
    test (__steward_path | string collect --allow-empty) = "$argv[1]"
end
function __steward_names
    command -q steward; or return
    set -l current (commandline -ct)
    set -l typed (commandline -opc)
    ${ask('plain $argv[1] "$current" 0 $typed[2..-1]')}
end
complete -c steward -f
${lines.join("\n")}
`;
}

const completionScripts = { bash, zsh, fish } as const;

const places = {
  bash: "/etc/bash_completion.d/steward",
  zsh: "/usr/local/share/zsh/site-functions/_steward",
  fish: "/etc/fish/completions/steward.fish",
} as const;
type Shell = keyof typeof places;

export function addCompletionCommand(program: Command, { io }: Pick<CommandPorts, "io">): void {
  program
    .command("completion")
    .description("print what makes a shell complete the words of this program")
    .addArgument(new Argument("<shell>", "the shell").choices(Object.keys(places)))
    .notes(`For one session: source <(steward completion bash)
For good:        ${Object.entries(places)
      .map(([shell, place]) => `steward completion ${shell} > ${place}`)
      .join("\n                 ")}`)
    .action((shell: Shell) => io.out(completionScripts[shell](describeCommand(program))));
}

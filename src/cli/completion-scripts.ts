/**
 * Generates the completion scripts for three shells from the model. Each script answers the same three questions: which
 * command has been typed so far, does the previous word take a value, and otherwise what can follow.
 */

import type { CompletedCommand, Values } from "./completion-model.js";

/** A word in single quotes, valid in all three shells. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Everything that can be typed after a command when no option is waiting for its value. */
const wordsOf = ({ commands, options, argument }: CompletedCommand): string[] => [
  ...commands.map(({ name }) => name),
  ...argument.names,
  ...options.flatMap(({ flags }) => flags),
];

/** The patterns of a `case` that recognizes subcommands: `'|sweep'`, `'sweep|plan'`. */
const steps = (model: readonly CompletedCommand[]): string =>
  model
    .filter(({ path }) => path !== "")
    .map(({ path }) => quoted(path.includes(" ") ? path.replace(" ", "|") : `|${path}`))
    .join("|");

function bashValues({ names, paths }: Values): string {
  const flag = { files: "-f", folders: "-d" };
  const reply = [
    // Values can be comma-separated lists: the part before the last comma is kept.
    ...(names.length > 0 ? [`$(compgen -P "$before" -W $'${names.join("\\n")}' -- "$last")`] : []),
    ...(paths ? [`$(compgen ${flag[paths]} -- "$cur")`] : []),
  ];
  // IFS is a newline here, so that a file name with spaces is one word.
  return `${paths ? "compopt -o filenames 2>/dev/null; " : ""}COMPREPLY=(${reply.join(" ")})`;
}

/** For `source <(nudge completion bash)`. */
export function bashScript(model: readonly CompletedCommand[]): string {
  const cases = model.map((command) => {
    const taking = command.options.flatMap(({ flags, value }) =>
      value ? [`        ${flags.join("|")}) ${bashValues(value)}; return ;;`] : [],
    );
    return [
      `    ${quoted(command.path)})`,
      ...(taking.length > 0 ? ['      case "$prev" in', ...taking, "      esac"] : []),
      `      ${bashValues({ names: wordsOf(command), paths: command.argument.paths })} ;;`,
    ].join("\n");
  });
  return `# bash completion for nudge: source <(nudge completion bash)
_nudge() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} path='' i IFS=$'\\n'
  local last=\${cur##*,} before=
  [[ $cur == *,* ]] && before=\${cur%,*},
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path|\${COMP_WORDS[i]}" in
      ${steps(model)}) path="\${path:+$path }\${COMP_WORDS[i]}" ;;
    esac
  done
  COMPREPLY=()
  case "$path" in
${cases.join("\n")}
  esac
}
complete -F _nudge nudge
`;
}

/** An entry for zsh's _describe: a colon separates the word from its description. */
const described = (name: string, about: string): string => quoted(`${name.replaceAll(":", "\\:")}:${about}`);

function zshValues({ names, paths }: Values): string {
  const both = [
    ...(names.length > 0 ? [`compadd -- ${names.map(quoted).join(" ")}`] : []),
    ...(paths ? [paths === "files" ? "_files" : "_files -/"] : []),
  ];
  return both.length > 0 ? both.join("; ") : "_message 'a value'";
}

/** For `nudge completion zsh > ~/.zfunc/_nudge`, or for `source`. */
export function zshScript(model: readonly CompletedCommand[]): string {
  const cases = model.map((command) => {
    const taking = command.options.flatMap(({ flags, value }) =>
      value ? [`        ${flags.join("|")}) ${zshValues(value)}; return ;;`] : [],
    );
    const { names, paths } = command.argument;
    const options = command.options.flatMap(({ flags, about }) => flags.map((flag) => described(flag, about)));
    return [
      `    ${quoted(command.path)})`,
      ...(taking.length > 0 ? ['      case "$prev" in', ...taking, "      esac"] : []),
      ...(command.commands.length > 0
        ? [`      below=(${command.commands.map(({ name, about }) => described(name, about)).join(" ")})`]
        : []),
      ...(options.length > 0 ? [`      options=(${options.join(" ")})`] : []),
      ...(names.length > 0 || paths ? [`      ${zshValues({ names, paths })}`] : []),
      "      ;;",
    ].join("\n");
  });
  return `#compdef nudge
# zsh completion for nudge: source <(nudge completion zsh), after compinit
_nudge() {
  local prev=\${words[CURRENT-1]} path_='' word
  local -a below options
  for word in \${words[2,CURRENT-1]}; do
    case "$path_|$word" in
      ${steps(model)}) path_="\${path_:+$path_ }$word" ;;
    esac
  done
  case "$path_" in
${cases.join("\n")}
  esac
  (( $#below )) && _describe -t commands command below
  [[ $PREFIX == -* || $#below -eq 0 ]] && (( $#options )) && _describe -t options option options
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _nudge "$@"; else compdef _nudge nudge; fi
`;
}

/** For `nudge completion fish | source`. */
export function fishScript(model: readonly CompletedCommand[]): string {
  const lines = model.flatMap((command) => {
    const start = `complete -c nudge -n ${quoted(`__nudge_at ${quoted(command.path)}`.replaceAll("'", '"'))}`;
    const { names, paths } = command.argument;
    return [
      ...command.commands.map(({ name, about }) => `${start} -a ${quoted(name)} -d ${quoted(fishText(about))}`),
      ...(names.length > 0 ? [`${start} -a ${quoted(names.join(" "))}`] : []),
      ...(paths === "files" ? [`${start} -F`] : []),
      ...(paths === "folders" ? [`${start} -a '(__fish_complete_directories)'`] : []),
      ...command.options.map(({ flags, about, value }) => {
        const typed = flags.map((flag) => (flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
        return `${start} ${typed.join(" ")}${value ? fishValues(value) : ""} -d ${quoted(fishText(about))}`;
      }),
    ];
  });
  const known = model.filter(({ path }) => path !== "").map(({ path }) => quoted(path));
  return `# fish completion for nudge: nudge completion fish | source
function __nudge_at
  set -l path ''
  for word in (commandline -opc)[2..-1]
    set -l longer (string trim "$path $word")
    contains -- $longer ${known.join(" ")}; and set path $longer
  end
  test "$path" = "$argv[1]"
end
complete -c nudge -f
${lines.join("\n")}
`;
}

function fishValues({ names, paths }: Values): string {
  const given = [...names, ...(paths === "folders" ? ["(__fish_complete_directories)"] : [])];
  return ` ${paths === "files" ? "-r -F" : "-x"}${given.length > 0 ? ` -a ${quoted(given.join(" "))}` : ""}`;
}

/** In fish, a single quote inside a single-quoted word is written \\', never '\\''. */
const fishText = (text: string): string => text.replaceAll("'", "’");

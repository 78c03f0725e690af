const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

export function isShell(name: string): name is Shell {
  return SHELLS.some((shell) => shell === name);
}

/** Each script asks `mooring __complete` and leaves names of files to the shell when there is no answer. */
export const COMPLETION_SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `# bash completion for mooring
_mooring() {
  local line
  COMPREPLY=()
  while IFS=$'\\t' read -r line _; do
    COMPREPLY+=("$line")
  done < <(mooring __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  # After "speechjob/" the name of the object follows.
  if [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == */ ]]; then compopt -o nospace; fi
}
complete -o default -F _mooring mooring
`,
  zsh: `#compdef mooring
_mooring() {
  local line
  local -a found
  while IFS= read -r line; do
    found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done < <(mooring __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#found} )); then _describe mooring found; else _files; fi
}
compdef _mooring mooring
`,
  fish: `# fish completion for mooring
function __mooring_complete
  set -l words (commandline -opc) (commandline -ct)
  mooring __complete -- $words[2..-1] 2>/dev/null
end
complete -c mooring -f -n 'test (count (__mooring_complete)) -gt 0' -a '(__mooring_complete)'
`,
};

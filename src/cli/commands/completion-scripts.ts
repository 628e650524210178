/**
 * The completion scripts. Each asks the command on the line for the words that fit: one a line, with its
 * description after a tab. A line with only a tab means names of files.
 */

export type Shell = "bash" | "zsh" | "fish";

export const scripts: Readonly<Record<Shell, string>> = {
  bash: `# Completion of turnlog for bash. In ~/.bashrc: source <(turnlog completion bash)
_turnlog() {
  local line="\${COMP_LINE:0:COMP_POINT}" typed before word about
  # Bash replaces only the end of a word, after the last ":" or "=".
  typed="\${line##*[[:space:]]}"
  before="\${typed%"\${typed##*[$COMP_WORDBREAKS]}"}"
  COMPREPLY=()
  while IFS=$'\\t' read -r word about; do
    if [[ -n $word ]]; then
      COMPREPLY+=("$(printf %q "\${word#"$before"}")")
    else
      compopt -o filenames 2>/dev/null
      while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "\${typed#"$before"}")
    fi
  done < <("$1" completion bash -- "$line" 2>/dev/null)
}
complete -F _turnlog turnlog`,
  zsh: `#compdef turnlog
# Completion of turnlog for zsh. In ~/.zshrc, after compinit: source <(turnlog completion zsh)
_turnlog() {
  local line
  local -a found
  for line in "\${(@f)$("\${words[1]}" completion zsh -- "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null)}"; do
    if [[ $line == $'\\t' ]]; then
      compset -P '--*='
      _files
      return
    fi
    [[ -n $line ]] && found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  _describe turnlog found
}
if [[ $funcstack[1] == _turnlog ]]; then _turnlog; else compdef _turnlog turnlog; fi`,
  fish: `# Completion of turnlog for fish: turnlog completion fish > ~/.config/fish/completions/turnlog.fish
function __turnlog_words
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    for line in ($words[1] completion fish -- $words[2..] "$typed" 2>/dev/null)
        if test "$line" = \\t
            __fish_complete_path "$typed"
        else
            printf '%s\\n' $line
        end
    end
end
complete -c turnlog -f -a '(__turnlog_words)'`,
};

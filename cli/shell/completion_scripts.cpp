// The functions that bash and zsh load: they ask ocrtune for the words and know none themselves.
#include "cli/completion.h"

namespace ocrtune {
namespace {

constexpr const char* kBash =
    R"sh(# bash completion for ocrtune; load it with: source <(ocrtune completion bash)
_ocrtune() {
  local line word kind= typed=${COMP_WORDS[COMP_CWORD]} before=
  COMPREPLY=()
  # bash breaks words at "=", and replaces only what stands behind it.
  [[ $typed == "=" || ${COMP_WORDS[COMP_CWORD-1]} == "=" ]] && before=yes
  while IFS= read -r line; do
    if [[ -z $kind ]]; then kind=$line; continue; fi
    word=${line%%$'\t'*}
    [[ -n $before ]] && word=${word#*=}
    COMPREPLY+=("$(printf '%q' "$word")")
    [[ $word == *= ]] && compopt -o nospace
  done < <("${COMP_WORDS[0]}" completion candidates -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  [[ $typed == "=" ]] && typed=
  case $kind in
    files) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$typed") ;;
    folders) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$typed") ;;
  esac
}
complete -F _ocrtune ocrtune
)sh";

constexpr const char* kZsh = R"sh(#compdef ocrtune
# zsh completion for ocrtune; load it with: source <(ocrtune completion zsh)
_ocrtune() {
  local line word help kind
  local -a whole started shown_whole shown_started
  while IFS= read -r line; do
    if [[ -z $kind ]]; then kind=$line; continue; fi
    word=${line%%$'\t'*} help=${line#*$'\t'}
    [[ -n $help ]] && help="$word  -- $help" || help=$word
    if [[ $word == *= ]]; then started+=("$word"); shown_started+=("$help")
    else whole+=("$word"); shown_whole+=("$help"); fi
  done < <("${words[1]}" completion candidates -- "${(@)words[2,CURRENT]}" 2>/dev/null)
  (( ${#whole} )) && compadd -l -d shown_whole -a whole
  (( ${#started} )) && compadd -S '' -l -d shown_started -a started
  case $kind in
    files) compset -P '*='; _files ;;
    folders) compset -P '*='; _files -/ ;;
  esac
}
if [[ ${funcstack[1]} == _ocrtune ]]; then _ocrtune "$@"; elif (( $+functions[compdef] )); then compdef _ocrtune ocrtune; fi
)sh";

}  // namespace

std::string completion_script(const std::string& shell) { return shell == "zsh" ? kZsh : kBash; }

}  // namespace ocrtune

# bash completion for adept. The program is asked what it knows, so that this file never lags behind.

_adept_commands() {
    "$1" --help 2>/dev/null | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p' | grep -v '^adept$'
}

_adept_options() {
    "$1" "$2" --help-all 2>/dev/null | sed -n 's/^ \{2,6\}\(-[A-Za-z], \)\{0,1\}\(--[a-z-]*\).*/\2/p'
}

# The words an option can take: those that its error message lists. Without a model the command does nothing else.
_adept_words() {
    case $3 in
    --gpu) "$1" gpus 2>/dev/null | sed -n '2,$s/ .*//p' ;;
    *) "$1" "$2" "$3=?" 2>&1 >/dev/null </dev/null | sed -n 's/.* is not one of //p' | sed 's/, /\n/g' ;;
    esac
}

_adept() {
    local program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} option='' command='' words i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        -*) ;;
        *) command=${COMP_WORDS[i]}; break ;;
        esac
    done
    if [ -z "$command" ]; then
        words="$(_adept_commands "$program") --help --version"
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
        return
    fi
    # "--mode=tr" arrives as three words
    if [ "$current" = '=' ]; then
        option=${COMP_WORDS[COMP_CWORD - 1]} current=''
    elif [ "${COMP_WORDS[COMP_CWORD - 1]}" = '=' ]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
    else
        case ${COMP_WORDS[COMP_CWORD - 1]} in
        --*) option=${COMP_WORDS[COMP_CWORD - 1]} ;;
        esac
    fi
    case $current in
    -*)
        mapfile -t COMPREPLY < <(compgen -W "$(_adept_options "$program" "$command")" -- "$current")
        return
        ;;
    esac
    if [ -n "$option" ] && [ "$command" != gpus ]; then
        words=$(_adept_words "$program" "$command" "$option")
        [ -n "$words" ] && mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current") && return
    fi
    if [ "$command" = gpus ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_adept_words "$program" gpus --gpu)" -- "$current")
    fi
    # else files: complete -o default
}

complete -o default -o bashdefault -F _adept adept

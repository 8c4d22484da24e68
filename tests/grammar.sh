#!/bin/bash
# The grammars have no conflicts, and nothing that would hide one; the lexers match every byte.
# Usage: grammar.sh BISON FLEX FILE...
set -u
bison=$1 flex=$2 status=0
shift 2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for file in "$@"; do
    case $file in
    *.y)
        "$bison" -Wall -Werror -Wcounterexamples --output="$scratch/parser.c" --defines="$scratch/parser.h" "$file" || status=1
        if grep -nE '^%(expect(-rr)? +[1-9]|glr-parser)' "$file"; then
            echo "$file: conflicts are to be removed, not expected"
            status=1
        fi
        ;;
    *.l)
        "$flex" --nodefault --outfile="$scratch/lexer.c" "$file" 2>"$scratch/messages" || status=1
        if [ -s "$scratch/messages" ]; then
            cat "$scratch/messages"
            status=1
        fi
        ;;
    esac
done
exit $status

#!/bin/bash
# Runs a command and holds that it ends with exactly the given status: a crash or an unexpected success
# is a failure, whatever was printed. Usage: exits.sh STATUS COMMAND...
want=$1
shift
"$@"
got=$?
[ "$got" -eq "$want" ] && exit 0
echo "exits.sh: status $got, not $want: $*" >&2
exit 1

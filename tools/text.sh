#!/bin/bash
# Prints English prose to train a byte model on: The Devil's Dictionary (1911, public domain), 380 kB
# of ASCII, from the Debian package dict-devil; where that is missing, the licence texts that every
# Debian system has. A dictd file is gzip; its first 40 lines tell about the edition.
set -eu
devil=/usr/share/dictd/devil.dict.dz
if [ -r "$devil" ]; then
    gzip -dc <"$devil" | sed -n '/^ *PREFACE$/,$p'
else
    echo "text.sh: no $devil (package dict-devil); taking the texts of /usr/share/common-licenses" >&2
    find /usr/share/common-licenses -type f | LC_ALL=C sort | xargs cat
fi

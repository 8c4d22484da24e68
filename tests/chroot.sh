#!/bin/bash
# A built executable needs libc, libm and at run time the product library, nothing else: it trains in a
# chroot that holds just the ldd closures of these two. Needs root. Usage: chroot.sh PLACEC FILE.place
set -eu
placec=$1 file=$2
jail=$(mktemp -d)
trap 'rm -rf "$jail"' EXIT

# What ldd says of a file, the loader included.
closure() { ldd "$1" | sed -nE 's#^.*=> (/[^ ]+) .*#\1#p; s#^\s*(/[^ ]+) .*#\1#p'; }

"$placec" build "$file" -o "$jail/train"
product=$(ldconfig -p | sed -nE 's#^\s*libopenblas\.so\.0 .*=> (/.*)#\1#p' | head -1)
[ -n "$product" ] || { echo "chroot.sh: no libopenblas.so.0 on this machine"; exit 1; }
mkdir -p "$jail/usr/lib" "$jail/usr/lib64" "$jail/tmp"
ln -s usr/lib "$jail/lib"
ln -s usr/lib64 "$jail/lib64"
for library in "$product" $(closure "$jail/train") $(closure "$product"); do
    mkdir -p "$jail$(dirname "$library")"
    cp -L "$library" "$jail$library"
done
if find "$jail" -name 'libLLVM*' | grep .; then
    echo "chroot.sh: the executable needs LLVM"
    exit 1
fi

head -c 20000 /usr/share/common-licenses/GPL-3 >"$jail/text"
env -i "$(command -v chroot)" "$jail" /train --data /text --steps 2 --save /parameters.safetensors
[ -s "$jail/parameters.safetensors" ]

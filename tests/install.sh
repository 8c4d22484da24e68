#!/bin/bash
# Installs into a folder, moves that folder, and uses it from elsewhere: a program links the runtime by
# pkg-config alone, and placec finds its library. Usage: install.sh CMAKE BUILD-FOLDER SOURCE-FOLDER
set -eu
cmake=$1 build=$2 source=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$cmake" --install "$build" --prefix "$scratch/first" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
mv "$scratch/first" "$scratch/second place"
prefix="$scratch/second place"
cd "$scratch"

for file in bin/placec lib/libplace_runtime.a lib/pkgconfig/place.pc include/place.h share/place/lib/strategies.place \
    share/bash-completion/completions/placec share/zsh/site-functions/_placec \
    share/fish/vendor_completions.d/placec.fish share/man/man1/placec.1 share/vim/vimfiles/syntax/place.vim \
    share/vim/vimfiles/ftdetect/place.vim share/vim/vimfiles/ftplugin/place.vim share/place/vscode/package.json \
    share/place/vscode/language-configuration.json share/place/vscode/syntaxes/place.tmLanguage.json; do
    [ -e "$prefix/$file" ] || { echo "not installed: $file"; exit 1; }
done

export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
[ "$(pkg-config --modversion place)" = "$("$prefix/bin/placec" --version | sed -n '1s/.* //p')" ] ||
    { echo "place.pc and placec --version disagree"; exit 1; }
cat >program.c <<'C'
#include <place.h>
static const struct place_program program = {.abi_version = PLACE_ABI_VERSION, .name = "none"};
int main(int argc, char **argv) {
    return place_main(argc, argv, &program);
}
C
eval "cc -o program program.c $(pkg-config --cflags --libs place)"
./program --help | grep -q -- --steps || { echo "a program linked by pkg-config has no --help"; exit 1; }

mkdir user
cp "$source/examples/zero3.place" user/
"$prefix/bin/placec" check user/zero3.place >report || { cat report; exit 1; }
# The library that was found is the installed one, not the source tree's.
mv "$prefix/share/place/lib/strategies.place" "$scratch/hidden.place"
if "$prefix/bin/placec" check user/zero3.place >report 2>&1; then
    echo "placec found its library somewhere other than in the installation"
    exit 1
fi

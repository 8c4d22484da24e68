#!/usr/bin/env python3
"""Holds the layers of ARCHITECTURE.md, on what was compiled and on what is written.

    layers.py ROOT BUILD FOLDER=LIBRARY...

For every static library: the symbols that it leaves open are defined by itself, by a library that its
folder may use, or by an outside library that it may use, and no two define the same. A compiler library keeps no writable data
(all state is passed in) and calls exit only where no memory is left. For every folder: it includes only folders it
may use, and of those only what they expose; its files, by what they include and by the symbols that they leave
open, form no circle; and where its folders are floors, none uses a higher one."""
import glob
import os
import re
import subprocess
import sys

# What a folder may use beside itself. The star: everything around ir, the driver around everything.
# The backend shares with the runtime the table of calls and the definitions of elementary functions.
FOLDERS = {
    "ir": set(),
    "interpreter": {"ir"},
    "frontend": {"ir"},
    "passes": {"ir"},
    "verify_algebra": {"ir"},
    "verify": {"ir", "interpreter", "verify_algebra"},
    "equal": {"ir", "verify_algebra"},
    "backend": {"ir", "runtime"},
    "runtime": set(),
}
# The backend's static library names nothing of LLVM: that is loaded with the code generator, a module.
OUTSIDE = {"frontend": ("json_", "jsonp_"), "equal": ("json_", "jsonp_")}
C_LIBRARY = ("libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2")
# Named by the compiler itself; libgcc holds the last two groups (choice by CPU, wide integers).
COMPILER = re.compile(r"_GLOBAL_OFFSET_TABLE_|__cpu_model|__cpu_indicator_init|__cpu_features2|__(mul|div|udiv|mod|umod)[a-z]*[st]i[34]|__float.*|__fix.*")
CONSTANT_SECTIONS = re.compile(r"\.(data\.rel\.ro|rodata|text|tm_clone|eh_frame|init_array|fini_array)")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"/]+)/([^"]+)"', re.M)
# What others may include of a folder: the header of its name. Of ir that is a vocabulary in several, and a table of words that a file and the compiler share; of the
# runtime also what generated code and it agree on, and how files are written that are there whole or not at all; of verify the terms of its algebra, and numbers
# for equal things. Every other header is between the files of its folder.
EXPOSED = {
    "ir": {"ir.h", "route.h", "arena.h", "check.h", "config.h", "diagnostic.h", "limits.h", "names.h", "placement.h",
           "methods.def", "precision_fields.def", "schedule.h", "sizes.h", "source.h",
           "span.h", "interpreter/interpreter.h"},
    "frontend": {"frontend.h"},
    "passes": {"passes.h"},
    "verify": {"verify.h", "algebra/term.h", "algebra/intern.h"},
    "equal": {"equal.h"},
    "backend": {"backend.h"},
    "runtime": {"place.h", "calls.h", "calls.def", "options.def", "host/data_kinds.def", "workspace.h", "kernels/kernels.h", "host/columns.h", "host/file.h"},
    "driver": set(),
}
# Folders with a library of their own: what is included of them is that library's.
OWN_LIBRARY = {("ir", "interpreter"): "interpreter", ("verify", "algebra"): "verify_algebra"}
# Who may look inside a folder beside itself. The grammar is the frontend's; a test, the folder it is named after;
# the harness of the backend plays the runtime's host, and a fuzzer may go for any part.
INSIDE = {"grammar": {"frontend"}, "bench": {"runtime", "equal"}, "tests/backend": {"runtime"}, "tests/fuzz": {"runtime", "equal"}}
# The folders inside a folder, the lowest first. Files beside them are above all; what is exposed is below all.
FLOORS = {
    "passes": ["reference", "routes", "pipeline", "placement", "layers", "partition", "stages", "schedule", "account", "price"],
    "verify": ["algebra", "proof", "rules", "rewriting", "machine", "diagnosis", "obligations"],
    "equal": ["graph", "text", "hlo", "layout", "fx", "interpreter", "values", "residues", "meaning", "diagnosis"],
}
# What prints the tables for shells and editors reads all of them, and nothing else of a folder.
READS_TABLES = "driver/interface/"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def symbols(library):
    """(defined, open) global symbols of a static library."""
    defined, undefined = set(), set()
    for line in run("nm", "-g", library).splitlines():
        parts = line.split()
        if len(parts) == 2 and parts[0] in "Uvw":
            undefined.add(parts[1])
        elif len(parts) == 3:
            defined.add(parts[2])
    return defined, undefined - defined


def c_library_symbols():
    names = set()
    for name in C_LIBRARY:
        path = run("gcc", f"-print-file-name={name}").strip()
        if os.path.isabs(path):
            names |= {line.split()[-1].split("@")[0] for line in run("nm", "-D", "--defined-only", path).splitlines()}
    return names


def writable(library):
    """Objects in writable sections, as objdump's table names them."""
    for line in run("objdump", "-t", library).splitlines():
        match = re.match(r"[0-9a-f]{16} ......O (\S+)\s+[0-9a-f]+\s+(?:\.hidden )?(\S+)$", line)
        if match and not CONSTANT_SECTIONS.match(match[1]):
            yield match[2], match[1]


def exits(library):
    """Objects that refer to exit. Not of these: flex leaves an unused function that does in every lexer, and where
    no memory is left nobody else can be told (ir/arena.c)."""
    for line in run("nm", "-A", "-u", library).splitlines():
        member, name = line.split(":")[1], line.split()[-1]
        if name in ("exit", "_exit", "quick_exit") and not member.endswith((".lex.c.o", "arena.c.o")):
            yield member


def linked(folder, library, libraries, from_c):
    """Complaints about what the library of `folder` refers to."""
    _, undefined = symbols(library)
    owners = {name: other for other, path in libraries.items() for name in symbols(path)[0]}
    for name in sorted(undefined - from_c):
        if name in owners:
            if owners[name] not in FOLDERS[folder]:
                yield f"{folder} uses {name} of {owners[name]}"
        elif not name.startswith(OUTSIDE.get(folder, ("\0",))) and not COMPILER.fullmatch(name):
            yield f"{folder} uses {name} of no library that it may use"
    if folder != "runtime":
        for member in exits(library):
            yield f"{folder} calls exit in {member}, which is the driver's"
        for name, section in writable(library):
            if name.startswith("yyloc_default."): # bison's, never written
                continue
            yield f"{folder} keeps {name} in {section}: state that is not passed in"


def named_twice(libraries):
    """Complaints about names that two libraries define: a linker takes the first, and says nothing."""
    owners = {}
    for folder, library in libraries.items():
        for name in sorted(symbols(library)[0]):
            if name in owners:
                yield f"{folder} and {owners[name]} both define {name}"
            owners[name] = folder


def included(root, folder):
    """Complaints about what the files of `folder` include."""
    for directory, _, names in os.walk(os.path.join(root, folder)):
        for name in sorted(names):
            if not name.endswith((".c", ".h", ".def", ".inc", ".l", ".y")):
                continue
            path = os.path.relpath(os.path.join(directory, name), root)
            own = "tests/" + name.split("_")[0] if folder == "tests" else folder
            inside = INSIDE.get(own, set()) | {own.removeprefix("tests/")}
            with open(os.path.join(root, path), encoding="utf-8") as file:
                for other, header in INCLUDE.findall(file.read()):
                    if other not in EXPOSED or (path.startswith(READS_TABLES) and header.endswith(".def")):
                        continue
                    used = OWN_LIBRARY.get((other, header.split("/")[0]), other)
                    if folder in FOLDERS and other != folder and used not in FOLDERS[folder]:
                        yield f"{path} includes a header of {used}/"
                    elif other not in inside and header not in EXPOSED[other]:
                        yield f"{path} includes {other}/{header}, which is between the files of {other}/"


def objects_of(root, folder, build):
    """(defined, open) global symbols of every object that was compiled of the folder's files, by the path of its
    source, be it for a library, a module or a program. Objects are looked for where they were compiled: in an archive
    those of two folders may have one name, and modules have no archive."""
    sources, objects = {}, {}
    for place in glob.glob(os.path.join(build, folder, "**", "CMakeFiles", "*.dir"), recursive=True):
        beside = os.path.relpath(os.path.dirname(os.path.dirname(place)), build)
        for path in glob.glob(os.path.join(place, "**", "*.o"), recursive=True):
            source = os.path.normpath(os.path.join(beside, os.path.relpath(path, place).removesuffix(".o")))
            if os.path.exists(os.path.join(root, source)) or os.path.exists(os.path.join(build, source)): # generated
                sources[path] = source
                objects[source] = set(), set()
    for line in run("nm", "-A", "-g", *sources).splitlines() if sources else []:
        path, symbol = line.split(":", 1)
        kind, name = symbol.split()[-2:]
        objects[sources[path]][kind in "Uvw"].add(name)
    return objects


def arrows_of(root, folder, build):
    """For every file of the folder those of it that it uses: headers that it includes, and the sources of symbols
    that its object leaves open."""
    arrows = {}
    for directory, _, names in os.walk(os.path.join(root, folder)):
        for name in names:
            path = os.path.relpath(os.path.join(directory, name), root)
            if name.endswith((".c", ".h", ".def", ".inc", ".l", ".y")):
                with open(os.path.join(root, path), encoding="utf-8") as file:
                    arrows[path] = {"/".join(match) for match in INCLUDE.findall(file.read())}
    objects = objects_of(root, folder, build)
    assert objects, f"no object of {folder}/ in {build}"
    owners = {symbol: source for source, (defined, _) in objects.items() for symbol in defined}
    for source, (_, undefined) in objects.items():
        arrows.setdefault(source, set()).update(owners[symbol] for symbol in undefined & owners.keys())
    return {path: sorted(used & arrows.keys() - {path}) for path, used in arrows.items()}


def circles(arrows):
    """The sets of two files and more of which each uses every other, directly or by way of others."""
    reached = {}
    for path in arrows:
        reached[path], left = set(), [path]
        while left:
            for used in arrows[left.pop()]:
                if used not in reached[path]:
                    reached[path].add(used)
                    left.append(used)
    found = {frozenset(other for other in reached[path] if path in reached[other])
             for path in arrows if path in reached[path]}
    return sorted(map(sorted, found))


def floor_of(folder, path):
    """What is exposed is below all, with a table of its name that it reads."""
    inside = path.split("/")[1:]
    if inside[0] in EXPOSED[folder] or inside[0].replace(".def", ".h") in EXPOSED[folder]:
        return -1
    return FLOORS[folder].index(inside[0]) if len(inside) > 1 else len(FLOORS[folder])


def within(root, folder, build):
    """Complaints about what the files of `folder` use of each other."""
    arrows = arrows_of(root, folder, build)
    for circle in circles(arrows):
        yield f"a circle of files: {', '.join(circle)}"
    for path, used in sorted(arrows.items()) if folder in FLOORS else []:
        for other in used:
            if floor_of(folder, other) > max(floor_of(folder, path), 0):
                yield f"{path} uses {other}, which is of a higher floor"


def main():
    root, build, libraries = *sys.argv[1:3], dict(argument.split("=", 1) for argument in sys.argv[3:])
    from_c = c_library_symbols()
    folders = [*EXPOSED, "grammar", "bench", "tests"]
    found = [line for folder in folders for line in included(root, folder)]
    for folder, library in libraries.items():
        found += linked(folder, library, libraries, from_c)
    found += named_twice(libraries)
    for folder in EXPOSED:
        found += within(root, folder, build)
    print("\n".join(found))
    return 1 if found or not libraries else 0


sys.exit(main())

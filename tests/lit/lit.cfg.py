# Whole-compiler tests as text: a file with RUN: lines, judged by FileCheck.
#
# Texts run by bash. Substitutions: %placec the command, %s the test file, %t a path of its own for
# what it writes, %examples, %lib, %inputs, %hlo, %fx folders, %mpirun N a launcher for N processes, %python, %chroot,
# %edit, %alike, %same_bits, %resume, %killed_stage, %trace and %turns scripts of this folder's parent, %nth how far
# apart those are that a test takes of many (1 in full), and %sampled what goes on to a loop's next round in all but
# every %nth; `%exits N COMMAND` holds that a command ends with
# status N; `not` and FileCheck are found by name. Features (REQUIRES:): mpi, root, sanitizer, full, mount
# (a private tmpfs may be mounted).
import os
import subprocess
import lit.formats

config.name = "place"
config.test_format = lit.formats.ShTest(execute_external=True)
config.suffixes = [".place", ".step", ".program", ".test"]
config.excludes = ["inputs"]
config.test_source_root = os.path.join(config.source_root, "tests", "lit")
config.test_exec_root = os.path.join(config.binary_root, "tests", "lit")

# The environment is built up from nothing, so that a test cannot depend on the caller's.
# Open MPI refuses root and more ranks than cores unless it is told.
config.environment = {
    "PATH": os.pathsep.join(
        [os.path.dirname(config.filecheck), "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"]
    ),
    "LC_ALL": "C.UTF-8",
    "HOME": config.test_exec_root,
    "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", ""),
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}

NTH = "1" if os.environ.get("PLACE_TEST_FULL") else "4"
config.substitutions += [
    ("%placec", config.placec),
    ("%examples", os.path.join(config.source_root, "examples")),
    ("%lib", os.path.join(config.source_root, "lib")),
    ("%inputs", os.path.join(config.test_source_root, "inputs")),
    ("%hlo", os.path.join(config.source_root, "tests", "inputs", "hlo")),
    ("%fx", os.path.join(config.source_root, "tests", "inputs", "fx")),
    ("%mpirun", config.mpiexec + " -n"),
    ("%python", config.python),
    ("%nth", NTH),
    ("%sampled", f"test $((rounds++ % {NTH})) -eq 0 || continue"),
    ("%edit", " ".join([config.python, os.path.join(config.source_root, "tests", "edit.py"), config.placec])),
    ("%in_flight", " ".join([config.python, os.path.join(config.source_root, "tests", "in_flight.py"), config.placec])),
    ("%offloaded_ways", " ".join([config.python, os.path.join(config.source_root, "tests", "offloaded_ways.py")])),
    ("%offloaded", " ".join([config.python, os.path.join(config.source_root, "tests", "offloaded.py"), config.placec])),
    ("%as_said", " ".join([config.python, os.path.join(config.source_root, "tests", "offloaded_as_said.py")])),
    ("%alike", " ".join([config.python, os.path.join(config.source_root, "tests", "trains_alike.py"), config.placec])),
    ("%same_bits", os.path.join(config.source_root, "tests", "same_bits.py") + " --library " + config.no_products),
    ("%resume", " ".join([config.python, os.path.join(config.source_root, "tests", "resume.py")])),
    ("%killed_stage", " ".join([config.python, os.path.join(config.source_root, "tests", "killed_stage.py")])),
    ("%trace", " ".join([config.python, os.path.join(config.source_root, "tests", "trace.py")])),
    ("%turns", " ".join([config.python, os.path.join(config.source_root, "tests", "turns.py")])),
    ("%exits", os.path.join(config.source_root, "tests", "exits.sh")),
    ("%chroot", os.path.join(config.source_root, "tests", "chroot.sh")),
]

if config.has_mpi:
    config.available_features.add("mpi")
if config.sanitize:
    config.available_features.add("sanitizer")
if os.geteuid() == 0:
    config.available_features.add("root")
try:
    subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], check=True, capture_output=True)
    config.available_features.add("mount")
except (OSError, subprocess.CalledProcessError):
    pass
if os.environ.get("PLACE_TEST_FULL"):
    config.available_features.add("full")

# Of tests that train, builds that are several times slower take every N-th (PLACE_TEST_EVERY=N), and of the others,
# which take a twentieth of the time and have the same few ways through the command, four times as many: these are left
# out, by the lit.local.cfg of each folder. Of N the one in the middle is taken.
EVERY = int(os.environ.get("PLACE_TEST_EVERY", 1))
TRAIN = ("edited", "examples", "run")
config.left_out = {}
for folder in (*TRAIN, "bad_input", "check", "place"):
    every = EVERY if folder in TRAIN else max(1, EVERY // 4)
    names = sorted(os.listdir(os.path.join(config.test_source_root, folder)))
    config.left_out[folder] = [name for i, name in enumerate(names) if (i + every // 2) % every]

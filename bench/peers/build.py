"""Builds what peers.py measures, once, below .cache/peers: programs as their users build them and as is best, and replays made of the corpus.

What is missing on a machine raises Skip, with a sentence.
"""

from __future__ import annotations

import functools
import glob
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CACHE = ROOT / ".cache" / "peers"
CORPUS = Path(os.environ.get("CORPUS", ROOT.parent / "shared" / "corpus"))
os.environ.pop("GOGC", None)  # programs use memory as they do elsewhere
PROFILE = os.environ.get("PGO", str(ROOT / "cmd" / "replayd" / "default.pgo"))


class Skip(Exception):
    """A sentence that says why something cannot be measured here."""


def need(program: str) -> str:
    if not shutil.which(program):
        raise Skip(f"{program} is not installed")
    return program


def run(*command: object, at: Path = ROOT) -> None:
    words = [str(word) for word in command]
    need(words[0])
    done = subprocess.run(words, cwd=at, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Skip(f"`{' '.join(words[:4])} ...` failed: {done.stdout.strip()[-500:]}")


def say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def corpus(pattern: str) -> list[str]:
    if not (paths := sorted(glob.glob(str(CORPUS / pattern)))):
        raise Skip(f"the corpus has no {pattern}")
    return paths


@functools.cache
def go(name: str, package: str, at: Path = ROOT) -> str:
    """A program, compiled as the daemon is: with its profile."""
    say(f"building {name}")
    run("go", "build", f"-pgo={PROFILE}", "-o", CACHE / "bin" / name, package, at=at)
    return str(CACHE / "bin" / name)


def peers() -> str:
    return go("peers", ".", HERE)


def replayd() -> str:
    return go("replayd", "./cmd/replayd")


@functools.cache
def rust(profile: str) -> str:
    """The crates: as users build them (release), or with the whole program optimised at once (best)."""
    say(f"building the crates: {profile}")
    run("cargo", "build", "--quiet", "--locked", "--profile", profile, "--target-dir", CACHE / "rust", at=HERE / "rust")
    return str(CACHE / "rust" / profile / "peers")


@functools.cache
def varints() -> str:
    run("cc", "-O3", "-march=native", "-o", CACHE / "bin" / "varints", HERE / "floor" / "varints.c")
    return str(CACHE / "bin" / "varints")


@functools.cache
def python() -> str:
    program = CACHE / "venv" / "bin" / "python"
    if not program.exists():
        run(sys.executable, "-m", "venv", CACHE / "venv")
    say("installing the libraries of Python")
    run(program, "-m", "pip", "install", "--quiet", "--requirement", HERE / "requirements.txt")
    return str(program)


@functools.cache
def clarity() -> str:
    """The class path of the program in Java."""
    to = CACHE / "clarity"
    say("building clarity")
    run("mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={to}", at=HERE / "clarity")
    run("javac", "-cp", f"{to}/*", "-d", to, HERE / "clarity" / "Entities.java")
    return f"{to}:{to}/*"


def made(name: str, *command: object, at: Path = ROOT) -> str:
    """A replay below the root of the daemon, made once by a command in which TO stands for its path."""
    path = replays() / name
    if not path.exists():
        say(f"making {name}")
        run(*(path if word == "TO" else word for word in command), at=at)
    return str(path)


def replays() -> Path:
    path = CACHE / "replays"
    path.mkdir(parents=True, exist_ok=True)
    return path


def copied(pattern: str, name: str) -> str:
    return made(name, "cp", corpus(pattern)[0], "TO")

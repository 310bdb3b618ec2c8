"""The program adept: where it is, and what it answers."""
from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from enum import Enum
from typing import Any, Dict, List, Mapping, Optional, Sequence

from . import _lib

_STATUS_OF_EXIT = {2: _lib.E_USAGE, 3: _lib.E_INVALID, 4: _lib.E_UNSUPPORTED, 5: _lib.E_FIT, 6: _lib.E_UNKNOWN_GPU, 7: _lib.E_CHECK}

# Keywords that name their unit where the option has no such name: the option, and the unit it is given with.
_WITH_UNIT = {
    "within_time_s": ("within-time", "s"),
    "within_power_w": ("within-power", "W"),
    "within_energy_j": ("within-energy", "J"),
}


# What the program calls an option is a keyword here: --grad-accum is grad_accum. What stands in backquotes is a command, and stays.
_COMMAND_OR_OPTION = r"`[^`]*`|(?<![\w-])--([a-z][a-z0-9-]*)"


def _keyword(found: "re.Match[str]") -> str:
    return found.group(1).replace("-", "_") if found.group(1) else found.group(0)


def _in_python(said: str) -> str:
    said = re.sub(r" \(adept [\w-]+ --help[^)]*\)", "", said)
    said = re.sub(r"unknown option '(--[\w-]+)[^']*'", r"unknown keyword '\1'", said)
    return re.sub(_COMMAND_OR_OPTION, _keyword, said)


_NOT_FOUND = "the program adept is not found: install it (Debian package adept), or set ADEPT_PROGRAM to it"


def _is_program(found: str) -> bool:
    """Whether it is not this package's command, which would look for the program in turn."""
    with open(found, "rb") as file:
        return b"run_as_command" not in file.read(4096)


def _on_the_path() -> Optional[str]:
    for folder in os.get_exec_path():
        found = shutil.which("adept", path=folder)
        if found and _is_program(found):
            return found
    return None


def path() -> str:
    """The program: the environment's ADEPT_PROGRAM, the one of this package, or the one on the PATH."""
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "adept")
    found = os.environ.get("ADEPT_PROGRAM") or (own if os.access(own, os.X_OK) else _on_the_path())
    if not found:
        raise _lib.Error(_lib.E_USAGE, _NOT_FOUND)
    return str(found)


def _text(value: Any) -> str:
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, float):
        return "%.17g" % value
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def options(keywords: Mapping[str, Any]) -> List[str]:
    """Keywords as options: `grad_accum=2` is `--grad-accum 2`. None and False are not given, a list repeats the option, and so does a
    dictionary, as NAME=VALUE,VALUE,..."""
    arguments: List[str] = []
    for keyword, value in keywords.items():
        name, unit = _WITH_UNIT.get(keyword, (keyword.replace("_", "-"), ""))
        if value is None or value is False:
            continue
        if value is True:
            arguments.append("--" + name)
            continue
        if isinstance(value, Mapping):
            value = ["%s=%s" % (key, ",".join(map(_text, v)) if isinstance(v, (list, tuple, range)) else _text(v)) for key, v in value.items()]
        for one in value if isinstance(value, (list, tuple)) else [value]:
            arguments.append("--%s=%s%s" % (name, _text(one), unit))
    return arguments


def _finish(arguments: List[str]) -> "subprocess.CompletedProcess[bytes]":
    """The program, run. Where SIGCHLD is ignored the kernel forgets how children end, which subprocess.run() takes for success."""
    before = signal.getsignal(signal.SIGCHLD)
    if before == signal.SIG_IGN:
        if threading.current_thread() is not threading.main_thread():
            raise _lib.Error(_lib.E_INTERNAL, "this process ignores SIGCHLD, so nobody can know how adept ends: "
                             "signal.signal(signal.SIGCHLD, signal.SIG_DFL)")
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        return subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    finally:
        if before == signal.SIG_IGN:
            signal.signal(signal.SIGCHLD, before)


def run(command: str, operands: Sequence[Any], keywords: Mapping[str, Any], json_output: bool = True) -> Dict[str, Any]:
    """What `adept COMMAND` prints with --json. Raises Error with what it says when it fails."""
    arguments = [path(), command] + options(keywords) + (["--json"] if json_output else []) + ["--"] + [_text(o) for o in operands]
    done = _finish(arguments)
    said = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode != 0:
        prefix = "adept: "
        said = said[len(prefix):] if said.startswith(prefix) else said
        raise _lib.Error(_STATUS_OF_EXIT.get(done.returncode, _lib.E_INTERNAL), _in_python(said))
    result: Dict[str, Any] = json.loads(done.stdout.decode("utf-8")) if json_output else {}
    return result


def run_as_command() -> None:
    """The command `adept` of an installed wheel."""
    mark, pid = "ADEPT_COMMAND_PID", str(os.getpid())
    try:
        if os.environ.get(mark) == pid:  # what it became was this command again
            raise _lib.Error(_lib.E_USAGE, _NOT_FOUND)
        os.environ[mark] = pid
        os.execv(path(), ["adept"] + sys.argv[1:])
    except (_lib.Error, OSError) as error:
        print("adept: %s" % error, file=sys.stderr)
        sys.exit(2)

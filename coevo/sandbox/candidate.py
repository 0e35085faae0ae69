"""A candidate's process, from the fork to its end: walls, checks, definition, rollout, reply."""

from __future__ import annotations

import ast
import inspect
import io
import math
import os
import random
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numba
import numpy as np

from coevo.attempt import Stage
from coevo.problems.base import (
    Arrays,
    ArraySpec,
    BadOutput,
    Infeasible,
    Instances,
    NonFinite,
    Problem,
)
from coevo.sandbox import codec, determinism, static
from coevo.sandbox.codec import Reply
from coevo.sandbox.confinement import Confinement
from coevo.sandbox.limits import Limits

REPLY_FD = 3
_MODULE = "heuristic"
_FILE = "<heuristic>"


@dataclass(frozen=True)
class Job:
    """What every candidate is given: the problem and its instances."""

    problem: Problem
    instances: Instances
    outputs: Mapping[str, ArraySpec]
    limits: Limits
    checks: bool
    counted: Mapping[str, int]  # uses of each old NumPy name, growing as the candidate runs


class _Failed(Exception):
    """The candidate ends here, at this stage, for this reason."""

    def __init__(self, stage: Stage, message: str) -> None:
        super().__init__(message)
        self.stage = stage


class _Capped(io.TextIOBase):
    """Standard output and error: the first so many bytes go to the pipe, the rest nowhere."""

    def __init__(self, fd: int, size: int) -> None:
        self._fd, self._left = fd, size

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self._left > 0:
            data = text[: self._left].encode("utf-8", "replace")[: self._left]
            self._left -= len(data)
            try:
                os.write(self._fd, data)
            except BlockingIOError:  # the pipe is full: nobody reads before the end
                self._left = 0
        return len(text)


def run(code: bytes, job: Job, walls: Confinement, zygote: int) -> NoReturn:
    """Confine this process, run the candidate and reply on `REPLY_FD`; never returns.

    File descriptors 0, 1 and 2 are the candidate's own already. ``zygote`` is a pidfd.
    """
    leave: Callable[[int], NoReturn] = os._exit
    try:
        threads = _launch_numba_thread if b"parallel" in code else None
        try:
            walls.confine(zygote, threads)
        except BaseException as error:  # no code of the candidate's has been looked at yet
            os.write(1, b"!" + describe(error).encode())
            leave(1)
        os.write(1, codec.WALLS_STAND)
        sys.stdin = None
        sys.stdout = sys.stderr = _Capped(1, job.limits.output_bytes)
        determinism.seed_process()
        reply = _answer(code, job)
        _send(codec.encode_reply(reply, job.outputs))
    finally:
        leave(0)


def _launch_numba_thread() -> None:
    """``parallel=True`` wants numba's pool, of one thread here, which must start before the filter.

    It costs half a millisecond, so only code that mentions it has it.
    """
    from numba.np.ufunc import parallel

    parallel._launch_threads()


def _send(data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(REPLY_FD, left) :]


def _answer(code: bytes, job: Job) -> Reply:
    try:
        heuristic = _define(code, job)
        arrays = _rollout(heuristic, job)
        return Reply(Stage.SCORED, "", arrays, job.counted)
    except _Failed as failure:
        return Reply(failure.stage, str(failure), None, job.counted)


def _define(code: bytes, job: Job) -> Callable[..., Any]:
    """Check and execute the program, and find the function in it."""
    try:
        source = code.decode()
        tree = compile(source, _FILE, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
        offence = static.offence(tree) if job.checks else ""
        program = None if offence else compile(source, _FILE, "exec", dont_inherit=True)
    except SyntaxError as error:
        where = f" (line {error.lineno})" if error.lineno else ""
        raise _Failed(Stage.COMPILE, f"{type(error).__name__}: {error.msg}{where}") from None
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise _Failed(Stage.COMPILE, f"Python cannot read it: {describe(error)}") from None
    if program is None:
        raise _Failed(Stage.UNSAFE, offence)
    module = types.ModuleType(_MODULE)
    sys.modules[_MODULE] = module
    vars(module).update(np=np, numpy=np, math=math, random=random)
    try:
        exec(program, vars(module))
    except MemoryError as error:
        raise _Failed(Stage.MEMORY, describe(error)) from None
    except BaseException as error:
        raise _Failed(Stage.COMPILE, describe(error)) from None
    return _callable(vars(module), job.problem)


def _callable(names: Mapping[str, Any], problem: Problem) -> Callable[..., Any]:
    name, arguments = problem.function, problem.arguments
    function = names.get(name)
    if function is None:
        raise _Failed(Stage.SIGNATURE, f"there is no function {name}")
    if not callable(function):
        raise _Failed(Stage.SIGNATURE, f"{name} is {type(function).__name__}, not a function")
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        due = f"{name}({', '.join(arguments)})"
        raise _Failed(Stage.SIGNATURE, f"it cannot be called as {due}: {error}") from None
    except BaseException as error:  # a signature that the candidate forged
        if not isinstance(error, ValueError):
            raise _Failed(Stage.SIGNATURE, describe(error)) from None
    return function


def _rollout(heuristic: Callable[..., Any], job: Job) -> Arrays:
    try:
        arrays = job.problem.rollout(heuristic, job.instances)
        codec.encode_reply(Reply(Stage.SCORED, "", arrays), job.outputs)
        return arrays
    except BadOutput as error:
        raise _Failed(Stage.OUTPUT, _text(error)) from None
    except Infeasible as error:
        raise _Failed(Stage.INFEASIBLE, _text(error)) from None
    except NonFinite as error:
        raise _Failed(Stage.NONFINITE, _text(error)) from None
    except MemoryError as error:
        raise _Failed(Stage.MEMORY, describe(error)) from None
    except BaseException as error:
        raise _Failed(Stage.RUNTIME, describe(error)) from None


def describe(error: BaseException) -> str:
    """The exception in one line, with the candidate's line number where there is one."""
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _FILE:
            line = trace.tb_lineno
        trace = trace.tb_next
    where = "" if line is None else f" (line {line})"
    return f"{type(error).__name__}: {_text(error)[: 260 - len(where)]}{where}"


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:  # the candidate's own exception, whose text fails
        return "an exception without a text"


def warm(job: Job) -> None:
    """Zygote: run a rollout once, so that everything it uses is loaded and compiled.

    The files of the problem's own package are out of sight from then on.
    """
    source = next(iter(job.problem.baselines.values()), None)
    if source is None:
        return
    names: dict[str, Any] = {"__name__": _MODULE, "np": np, "math": math, "numba": numba}
    exec(compile(source, "<baseline>", "exec"), names)
    first = {name: array[:1] for name, array in job.instances.arrays.items()}
    of_one = Instances(
        job.instances.problem, job.instances.split, job.instances.n, job.instances.seed, first
    )
    job.problem.rollout(names[job.problem.function], of_one)

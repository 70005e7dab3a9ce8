"""The Python stacks of other processes, read from their memory without stopping them and without any package.

The text of this file runs by itself, under the very interpreter that the ranks run: `python -I -S -c TEXT`, the
request on standard input. The layout of CPython's structures differs between versions, so this process learns it from
itself: it knows its own frames, and looks for their addresses in its own memory. It then checks the result against
its own stack, and answers nothing if that differs. A target is read through /proc/PID/mem, opened only for reading:
nothing is attached, paused or written. The target continues to run, so a torn value is read again.

Request: {"pids": [...], "at": [seconds after the start of each look]}; answer: {"looks": [{"PID": [[file, line,
function, instruction], ...] outermost first}, ...], "why": {"PID": text}}. Python 3.8 and newer, 64 bits.

The file is long because it cannot import another module of allranks: only its text reaches the other interpreter.
"""

import ctypes
import json
import os
import struct
import sys
import threading
import time
import types

WORD = struct.Struct("Q")
HALF = struct.Struct("i")
MOST_FRAMES = 256
MOST_THREADS = 4096
MOST_TEXT = 4096
TRIES = 3
NOP = 9


class Torn(Exception):
    """The values that were read do not make sense: the target has moved on, or this Python has another layout."""


class Memory:
    """The memory of one process. `shift` is the distance of its interpreter's addresses from ours."""

    def __init__(self, pid, shift=0):
        self.descriptor = os.open("/proc/%s/mem" % pid, os.O_RDONLY)
        self.shift = shift

    def read(self, address, size):
        try:
            data = os.pread(self.descriptor, size, address)
        except (OSError, OverflowError):
            raise Torn("an address that cannot be read") from None
        if len(data) != size:
            raise Torn("less than asked for")
        return data

    def some(self, address, size):
        """As much of it as can be read."""
        data, step = b"", 4096
        while len(data) < size:
            try:
                data += self.read(address + len(data), min(step, size - len(data)))
            except Torn:
                break
        return data

    def word(self, address):
        return WORD.unpack(self.read(address, 8))[0]

    def half(self, address):
        return HALF.unpack(self.read(address, 4))[0]

    def close(self):
        os.close(self.descriptor)


# ---- where things lie: learned from this process ----


def places(memory, base, wanted, size, mask=0, step=8):
    """The offsets below `size` at which a word, without the bits of `mask`, is one of `wanted`."""
    data = memory.some(base, size)
    form = WORD if step == 8 else HALF
    return {
        n for n in range(0, len(data) - step + 1, step) if (form.unpack_from(data, n)[0] & ~mask) in wanted
    }


def common(found, what):
    """The first offset that all of these sets hold."""
    shared = set.intersection(*found)
    if not shared:
        raise Torn("no place of %s" % what)
    return min(shared)


def sleeper(depth, events):
    """A thread's function: its stack has `depth` frames of this one, at the same line."""
    if depth:
        return sleeper(depth - 1, events)
    events[0].set()
    events[1].wait()


class Layout:
    """Offsets in CPython's structures. Raises Torn if they cannot be learned."""

    def __init__(self, memory, threads):
        api = ctypes.pythonapi
        for name in ("PyInterpreterState_Main", "PyInterpreterState_ThreadHead", "PyThreadState_Next"):
            getattr(api, name).restype = ctypes.c_void_p
        self.runtime = ctypes.addressof(ctypes.c_char.in_dll(api, "_PyRuntime"))
        interpreter = api.PyInterpreterState_Main()
        self.interpreter = common([places(memory, self.runtime, {interpreter}, 1 << 17)], "the interpreter")
        head = api.PyInterpreterState_ThreadHead(ctypes.c_void_p(interpreter))
        states = [head]
        while states[-1]:
            states.append(api.PyThreadState_Next(ctypes.c_void_p(states[-1])))
        states.pop()
        self.head = common([places(memory, interpreter, {head}, 1 << 20)], "the first thread")
        rows = [places(memory, one, {states[n + 1]}, 1024) for n, one in enumerate(states[:-1])]
        self.next = common(rows, "the next thread")
        self._threads(memory, states, threads)
        self._code(memory)
        self._text(memory)

    def _threads(self, memory, states, threads):
        identifier = common(
            [places(memory, one, {t.ident for t in threads}, 2048) for one in states[:-1]], "a thread's id"
        )
        by_state = {one: memory.word(one + identifier) for one in states}
        native = {t.ident: getattr(t, "native_id", None) for t in threads}
        rows = [places(memory, one, {native.get(by_state[one])}, 2048) for one in states[:-1]]
        shared = set.intersection(*rows)
        self.native = min(shared) if shared else None
        current = sys._current_frames()
        tops = {one: current[by_state[one]] for one in states[:-1]}
        chains = []
        for top in tops.values():
            chain = []
            while top is not None:
                chain.append(top)
                top = top.f_back
            chains.append(chain)
        if sys.version_info < (3, 11):
            self._frames_as_objects(memory, tops, chains)
        else:
            self._frames_in_place(memory, tops, chains)

    def _frames_as_objects(self, memory, tops, chains):
        """Up to 3.10 a thread points to its newest frame object, which points to the one below."""
        self.cframe = None
        self.frame = common([places(memory, one, {id(top)}, 512) for one, top in tops.items()], "the frame")
        pairs = [(f, f.f_back) for chain in chains for f in chain[:-1]]
        self.previous = common([places(memory, id(f), {id(b)}, 256) for f, b in pairs], "the frame below")
        frames = [f for chain in chains for f in chain]
        self.code = common([places(memory, id(f), {id(f.f_code)}, 256) for f in frames], "a frame's code")
        self.start = None
        for unit in (1, 2):
            rows = [places(memory, id(f), {f.f_lasti // unit}, 256, step=4) for f in frames]
            shared = set.intersection(*rows)
            if shared:
                self.instruction, self.unit = min(shared), unit
                return
        raise Torn("no place of the instruction")

    def _frames_in_place(self, memory, tops, chains):
        """From 3.11 on frames are in a stack of their own; a frame object points to its own."""
        inner = {}
        for chain in chains:
            for f in chain:
                inner[id(f)] = memory.word(id(f) + 24)
        direct = [places(memory, one, {inner[id(top)]}, 512) for one, top in tops.items()]
        self.cframe, self.unit = None, 1
        if set.intersection(*direct):
            self.frame = common(direct, "the frame")
        else:
            rows = []
            for one, top in tops.items():
                row = set()
                for offset in range(0, 512, 8):
                    try:
                        near = places(memory, memory.word(one + offset), {inner[id(top)]}, 24)
                    except Torn:
                        continue
                    row |= {(offset, n) for n in near}
                rows.append(row)
            self.cframe, self.frame = common(rows, "the frame")
        own = [f for chain in chains for f in chain if f.f_code is sleeper.__code__]
        pairs = [(f, f.f_back) for f in own if f.f_back.f_code is sleeper.__code__]
        rows = [places(memory, inner[id(f)], {inner[id(b)]}, 128) for f, b in pairs]
        self.previous = common(rows, "the frame below")
        frames = [f for chain in chains for f in chain]
        rows = [places(memory, inner[id(f)], {id(f.f_code)}, 64, mask=7) for f in frames]
        self.code = common(rows, "a frame's code")
        rows = []
        for f in frames:
            data, row = memory.read(inner[id(f)], 128), set()
            for offset in range(0, 128, 8):
                start = WORD.unpack_from(data, offset)[0] - id(f.f_code) - f.f_lasti
                if 32 <= start < 512:
                    row.add((offset, start))
            rows.append(row)
        self.instruction, self.start = common(rows, "the instruction")

    def _code(self, memory):
        codes = [f.__code__ for f in (places, common, sleeper, walk, Layout.__init__, Memory.read, shift_of)]
        self.type = common([places(memory, id(c), {id(types.CodeType)}, 32) for c in codes], "a type")
        self.kind = id(types.CodeType)

        def offset(of, what):
            return common([places(memory, id(c), {id(of(c))}, 512) for c in codes], what)

        self.file = offset(lambda c: c.co_filename, "a file's name")
        self.name = offset(lambda c: getattr(c, "co_qualname", None) or c.co_name, "a function's name")
        self.table_name = "co_linetable" if sys.version_info >= (3, 10) else "co_lnotab"
        self.table = offset(lambda c: getattr(c, self.table_name), "the lines")
        self.first = common(
            [places(memory, id(c), {c.co_firstlineno}, 512, step=4) for c in codes], "the first line"
        )

    def _text(self, memory):
        plain, wide = "allranks plain", "allranks \u4e00 wide"
        self.ascii = memory.read(id(plain), 128).index(plain.encode())
        self.wide = memory.read(id(wide), 128).index(wide.encode("utf-16-le"))
        self.bytes = memory.read(id(b"allranks bytes!!"), 128).index(b"allranks bytes!!")


# ---- one target ----


class Reader:
    def __init__(self, layout):
        self.layout = layout
        self.known = {}
        self.template = (lambda: 0).__code__

    def stack(self, memory, pid):
        """The main thread's frames, outermost first. Raises Torn."""
        layout = self.layout
        interpreter = memory.word(layout.runtime + memory.shift + layout.interpreter)
        if not interpreter:
            raise Torn("its interpreter has not begun")
        state, last = memory.word(interpreter + layout.head), 0
        for _ in range(MOST_THREADS):
            if not state:
                break
            last = state
            if layout.native is not None and memory.word(state + layout.native) & 0xFFFFFFFF == pid:
                break
            state = memory.word(state + layout.next)
        # Up to 3.10 a thread does not know its kernel's number: the oldest, which is the last, is the main one.
        if not last or (layout.native is not None and not state):
            raise Torn("no main thread")
        return walk(self, memory, last)

    def line(self, memory, code, instruction):
        """(file, line, function) of an instruction of a code object there."""
        key = (memory.descriptor, code)
        if key not in self.known:
            layout = self.layout
            table = memory.word(code + layout.table)
            size = memory.word(table + 16)
            if size > 1 << 20:
                raise Torn("a table of lines that is too long")
            lines = memory.read(table + layout.bytes, size)
            values = {
                "co_firstlineno": memory.half(code + layout.first),
                layout.table_name: lines,
                # Up to 3.9 only lines within the code's length are told.
                "co_code": bytes((NOP, 0)) * (sum(lines[::2]) // 2 + 1),
            }
            names = (
                self.text(memory, memory.word(code + layout.file)),
                self.text(memory, memory.word(code + layout.name)),
            )
            self.known[key] = (self.template.replace(**values), names)
        like, (file, name) = self.known[key]
        return file, line_of(like, instruction), name

    def text(self, memory, address):
        size = memory.word(address + 16)
        if size > MOST_TEXT:
            raise Torn("a name that is too long")
        plain = memory.read(address + self.layout.ascii, size)
        if all(31 < byte < 127 for byte in plain):
            return plain.decode("ascii")
        wide = memory.read(address + self.layout.wide, 2 * size)
        # One byte a character ends with a byte 0; of two bytes a character nearly always one of the first is 0.
        if 0 not in wide[:size] and not any(memory.read(address + self.layout.wide + size, 1)):
            return wide[:size].decode("latin-1")
        return wide.decode("utf-16-le", "replace")


def walk(reader, memory, state):
    layout, frames = reader.layout, []
    frame = memory.word(state + layout.frame if layout.cframe is None else state + layout.cframe)
    if layout.cframe is not None:
        frame = memory.word(frame + layout.frame)
    while frame and len(frames) < MOST_FRAMES:
        code = memory.word(frame + layout.code) & ~7
        if code and memory.word(code + layout.type) == layout.kind + memory.shift:
            if layout.start is None:
                instruction = memory.half(frame + layout.instruction) * layout.unit
            else:
                instruction = memory.word(frame + layout.instruction) - code - layout.start
            if not -2 <= instruction < 1 << 24:
                raise Torn("an instruction outside of its code")
            file, line, name = reader.line(memory, code, instruction)
            if file and not (file.startswith("<") and name.startswith("<")):
                frames.append([file, line, name, instruction])
        elif layout.start is None:
            raise Torn("a frame without its code")
        frame = memory.word(frame + layout.previous)
    return frames[::-1]


def line_of(code, instruction):
    found = code.co_firstlineno
    if hasattr(code, "co_lines"):
        for start, end, line in code.co_lines():
            if start <= instruction < end and line is not None:
                return line
        return found
    import dis

    for start, line in dis.findlinestarts(code):
        if start > instruction:
            break
        found = line
    return found


def mapped(pid):
    """[(start, end, file's identity)] of a process."""
    rows = []
    with open("/proc/%s/maps" % pid) as file:
        for row in file:
            part = row.split(None, 5)
            low, _, high = part[0].partition("-")
            rows.append((int(low, 16), int(high, 16), (part[3], part[4])))
    return rows


def shift_of(pid, address):
    """How far a process's copy of the file that holds `address` here lies from ours."""
    own = mapped("self")
    file = next((row[2] for row in own if row[0] <= address < row[1]), None)
    if file is None or file[1] == "0":
        # Data that no file holds follows its file: the nearest below.
        file = max((row for row in own if row[0] <= address and row[2][1] != "0"), key=lambda row: row[0])[2]
    here = min(row[0] for row in own if row[2] == file)
    there = [row[0] for row in mapped(pid) if row[2] == file]
    if not there:
        raise Torn("it runs another Python")
    return min(there) - here


def learned():
    """A layout that reads this process's own threads as Python tells them. Raises Torn."""
    threads, gates = [], []
    for depth in (3, 5):
        events = (threading.Event(), threading.Event())
        thread = threading.Thread(target=sleeper, args=(depth, events), daemon=True)
        thread.start()
        events[0].wait()
        threads.append(thread)
        gates.append(events[1])
    time.sleep(0.002)  # until they are in their second wait
    memory = Memory("self")
    try:
        layout = Layout(memory, threads)
        reader = Reader(layout)
        state = memory.word(memory.word(layout.runtime + layout.interpreter) + layout.head)
        seen = [frame[:3] for frame in walk(reader, memory, state)]
        frame, told = sys._current_frames()[threads[-1].ident], []
        while frame is not None:
            name = getattr(frame.f_code, "co_qualname", None) or frame.f_code.co_name
            told.append([frame.f_code.co_filename, frame.f_lineno, name])
            frame = frame.f_back
        told = [one for one in told[::-1] if not (one[0].startswith("<") and one[2].startswith("<"))]
        if seen != told or not told:
            raise Torn("what was learned of this Python does not hold")
        return layout
    finally:
        for gate in gates:
            gate.set()
        for thread in threads:
            thread.join()
        memory.close()


def read_stacks(reader, memories, why):
    found = {}
    for pid, memory in memories.items():
        for _ in range(TRIES):
            try:
                found[str(pid)] = reader.stack(memory, pid)
                why.pop(str(pid), None)
                break
            except (Torn, ValueError, TypeError, UnicodeError) as error:
                why[str(pid)] = str(error)
    return found


def main():
    wanted = json.loads(sys.stdin.read())
    began, why, looks, memories = time.monotonic(), {}, [], {}
    try:
        layout = learned()
    except (Torn, ValueError, AttributeError, OSError) as error:
        print(json.dumps({"looks": [], "why": {str(pid): str(error) for pid in wanted["pids"]}}))
        return
    for pid in wanted["pids"]:
        try:
            memories[pid] = Memory(pid, shift_of(pid, layout.runtime))
        except OSError as error:
            why[str(pid)] = "its memory cannot be read: %s" % error.strerror
        except Torn as error:
            why[str(pid)] = str(error)
    reader = Reader(layout)
    for at in wanted["at"]:
        time.sleep(max(0.0, began + at - time.monotonic()))
        looks.append(read_stacks(reader, memories, why))
    print(json.dumps({"looks": looks, "why": why}))


if __name__ == "__main__":
    main()
